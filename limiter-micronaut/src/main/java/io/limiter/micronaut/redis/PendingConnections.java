// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.redis.connection.ConnectionSource;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Connections that another thread opens while the application continues to start: Lettuce's work
 * before its first packet, mainly class loading, takes up to a tenth of a start. Until they are
 * open, Redis counts as not connected.
 */
final class PendingConnections implements ConnectionSource {

  private final String name;
  private final CompletableFuture<ConnectionSource> opening = new CompletableFuture<>();
  private volatile @Nullable ConnectionSource opened;

  private PendingConnections(String name) {
    this.name = name;
  }

  /**
   * Opens the connections on a thread that then ends.
   *
   * @param name the connections' name, in messages
   * @param open may block for a bounded time; {@link #firstAttempt} fails with the exception that
   *     it throws
   */
  static PendingConnections open(String name, Supplier<ConnectionSource> open) {
    PendingConnections pending = new PendingConnections(name);
    Thread thread = new Thread(() -> pending.complete(open), "limiter-connect");
    thread.setDaemon(true);
    thread.start();
    return pending;
  }

  private void complete(Supplier<ConnectionSource> open) {
    try {
      ConnectionSource connections = open.get();
      opened = connections;
      opening.complete(connections);
    } catch (RuntimeException | LinkageError impossible) {
      opening.completeExceptionally(impossible);
    }
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public RedisClusterAsyncCommands<byte[], byte[]> commands() {
    ConnectionSource there = opened;
    if (there == null) {
      throw new StoreException(FailureReason.DISCONNECTED, name + " is not connected yet", null);
    }
    return there.commands();
  }

  /** Fails if the connections cannot be opened at all, for a reason other than Redis. */
  @Override
  public CompletionStage<Boolean> firstAttempt() {
    return opening.thenCompose(ConnectionSource::firstAttempt);
  }

  @Override
  public void renew() {
    ConnectionSource there = opened;
    if (there != null) {
      there.renew();
    }
  }

  /** Also closes connections that are opened afterwards. */
  @Override
  public void close() {
    var unused = opening.thenAccept(ConnectionSource::close);
  }
}
