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
 * Connections that another thread begins to open, while the one that starts the application goes
 * on: what Lettuce does before its first packet, the loading of its classes above all, takes as
 * long as a tenth of a start. Until they are there, Redis is not connected.
 */
final class PendingConnections implements ConnectionSource {

  private final String name;
  private final CompletableFuture<ConnectionSource> opening = new CompletableFuture<>();
  private volatile @Nullable ConnectionSource opened;

  private PendingConnections(String name) {
    this.name = name;
  }

  /**
   * Begins on a thread that ends with the opening.
   *
   * @param name theirs, in messages
   * @param open may block for a bounded time; what it throws {@link #firstAttempt} fails with
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

  /** Fails if the connections cannot even be opened, which no Redis mends. */
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

  /** Also what is opened after this. */
  @Override
  public void close() {
    var unused = opening.thenAccept(ConnectionSource::close);
  }
}
