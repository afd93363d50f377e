// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.StoreException;
import io.limiter.core.redis.connection.ConnectionLog;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * Supplies the connection for a decision. Called on the thread that decides, so it must not block.
 */
public interface ConnectionSource extends AutoCloseable {

  /**
   * The commands of an open connection, stand-alone or Cluster.
   *
   * @throws StoreException with reason {@code DISCONNECTED} if there is none now
   */
  RedisClusterAsyncCommands<byte[], byte[]> commands();

  /**
   * The name of the server in messages, such as {@code Redis at localhost:6379}. It contains no
   * user, password or path. By default {@code Redis}.
   */
  default String name() {
    return "Redis";
  }

  /** The {@link #name} for a URI: host and port, or the sentinels' master. */
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
   * warm, otherwise with false. Never fails. Complete at once, unless the source opens connections
   * itself.
   */
  default CompletionStage<Boolean> firstAttempt() {
    return CompletableFuture.completedFuture(true);
  }

  /**
   * Completes with whether the server, which these connections treat as a single one, is a node of
   * a Redis Cluster; at the latest when the first connection is warm and Redis has answered. Never
   * fails. By default false.
   */
  default CompletionStage<Boolean> isClusterNode() {
    return CompletableFuture.completedFuture(false);
  }

  /**
   * Passes the connections that this source opens later to their user, which then asks them
   * directly; once more if others replace them. By default this source is asked for every command.
   */
  default void whenOpened(Consumer<ConnectionSource> user) {}

  /**
   * The node has become a replica. A source that opens connections itself closes this one and looks
   * the primary up again. Does not block; called for each reply that reports it.
   */
  default void renew() {}

  /**
   * Warnings about weakened limits on the servers that were connected so far, as sentences that
   * name the server; also logged. Empty by default.
   */
  default List<String> warnings() {
    return List.of();
  }

  /** Closing twice has no effect: a container may close what its store has closed. */
  @Override
  void close();

  /** The address on which Redis listens. */
  record NodeAddress(String host, int port) {

    /** Parses the notation of Redis, with IPv6 addresses without brackets: {@code host:port}. */
    public static NodeAddress parse(String text) {
      int colon = text.lastIndexOf(':');
      return new NodeAddress(text.substring(0, colon), Integer.parseInt(text.substring(colon + 1)));
    }

    /** Returns this address; if it has no host, the same port at the host that reported it. */
    public NodeAddress orAt(String reporter) {
      return host.isEmpty() || host.equals("?") ? new NodeAddress(reporter, port) : this;
    }

    /** Host and port of a URI, for messages. */
    public static String text(RedisURI uri) {
      return new NodeAddress(uri.getHost(), uri.getPort()).toString();
    }

    /** For messages: {@code host:port}, an IPv6 address in brackets. */
    @Override
    public String toString() {
      return ConnectionLog.hostAndPort(host, port);
    }
  }
}
