// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.StoreException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Collectors;

/**
 * Which connection a decision is sent on. Called on the thread that decides, so it must not block.
 */
public interface ConnectionSource extends AutoCloseable {

  /**
   * The commands of an open connection, stand-alone or Cluster.
   *
   * @throws StoreException with reason {@code DISCONNECTED} if there is none now
   */
  RedisClusterAsyncCommands<byte[], byte[]> commands();

  /**
   * What is connected to, for messages: {@code Redis at localhost:6379}, for example. It has no
   * user, password or path. Default value {@code Redis}.
   */
  default String name() {
    return "Redis";
  }

  /** The {@link #name} of what a URI leads to: host and port, or the sentinels' master. */
  static String name(RedisURI uri) {
    if (!uri.getSentinels().isEmpty()) {
      return "Redis master '%s' via sentinel%s %s"
          .formatted(
              uri.getSentinelMasterId(),
              uri.getSentinels().size() == 1 ? "" : "s",
              uri.getSentinels().stream().map(NodeAddress::text).collect(Collectors.joining(", ")));
    }
    return uri.getSocket() == null
        ? "Redis at " + NodeAddress.text(uri)
        : "Redis at a Unix domain socket";
  }

  /**
   * Completes when every connection has been tried once: with true if all of them are open and
   * warm, else with false. Never fails. At once, unless the source opens connections itself.
   */
  default CompletionStage<Boolean> firstAttempt() {
    return CompletableFuture.completedFuture(true);
  }

  /**
   * The node that was asked is not the one to ask any more: it was made a replica. Whoever opens
   * connections himself opens them anew, and finds out where to. Does not wait; called for each
   * answer that says so.
   */
  default void renew() {}

  /** A second time does nothing: a container may close what its store has closed. */
  @Override
  void close();
}
