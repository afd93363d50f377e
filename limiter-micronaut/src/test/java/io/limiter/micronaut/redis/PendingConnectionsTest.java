// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.redis.ConnectionSource;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.SharedConnection;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisProcess;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.context.annotation.Requires;
import io.micronaut.runtime.server.EmbeddedServer;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Connections that another thread opens. */
class PendingConnectionsTest {

  private static final Duration SOON = Duration.ofSeconds(10);

  private final CompletableFuture<ConnectionSource> opened = new CompletableFuture<>();
  private final AtomicReference<Thread> opener = new AtomicReference<>();
  private final RedisConnections.PendingConnections pending =
      RedisConnections.PendingConnections.open(
          "Redis at redis.example:6379",
          () -> {
            opener.set(Thread.currentThread());
            return opened.join();
          },
          null);

  @Test
  void commandsFailUntilTheConnectionsAreOpen() {
    assertThat(pending.name()).isEqualTo("Redis at redis.example:6379");
    assertThatThrownBy(pending::commands)
        .hasMessage("Redis at redis.example:6379 is not connected yet")
        .isInstanceOfSatisfying(
            StoreException.class,
            failure -> assertThat(failure.reason()).isEqualTo(FailureReason.DISCONNECTED));
    assertThat(pending.firstAttempt().toCompletableFuture()).isNotDone();
    pending.renew();

    opened.cancel(false);
  }

  @Test
  void openedConnectionsOutliveTheThreadThatOpensThem() throws InterruptedException {
    try (RedisProcess redis = RedisProcess.onFreePort().start();
        ConnectionSource real =
            SharedConnection.open(RedisURI.create(redis.uri()), RedisSettings.defaults())) {
      opened.complete(real);

      assertThat(pending.firstAttempt()).succeedsWithin(SOON).isEqualTo(true);
      assertThat(pending.commands().ping().toCompletableFuture())
          .succeedsWithin(SOON)
          .isEqualTo("PONG");
      opener.get().join(SOON.toMillis());
      assertThat(opener.get())
          .isNotEqualTo(Thread.currentThread())
          .matches(ended -> !ended.isAlive());
    }
  }

  @Test
  void aConnectionOpenedAfterTheEndIsClosed() {
    Counted late = new Counted();

    pending.close();
    opened.complete(late);

    assertThat(pending.firstAttempt()).succeedsWithin(SOON);
    assertThat(late.closed).hasValue(1);
  }

  @Test
  void aClusterThatCannotBeOpenedLeavesTheNode() {
    Counted node =
        new Counted() {
          @Override
          public CompletionStage<Boolean> isClusterNode() {
            return CompletableFuture.completedFuture(true);
          }
        };
    try (RecordedLog log = RecordedLog.of(RedisConnections.class)) {
      RedisConnections.PendingConnections alone =
          RedisConnections.PendingConnections.open(
              "Redis at redis.example:6379",
              () -> node,
              () -> {
                throw new IllegalStateException("Lettuce 6.2.0 is too old");
              });

      assertThat(alone.firstAttempt()).succeedsWithin(SOON).isEqualTo(true);
      assertThat(log.messages())
          .containsExactly(
              "The other nodes of the Redis Cluster of Redis at redis.example:6379 cannot be connected to");
      alone.close();
    }
    assertThat(node.closed).hasValue(1);
    opened.cancel(false);
  }

  @Test
  void connectionsThatCannotBeOpenedStopTheStart() {
    assertThatThrownBy(
            () ->
                ApplicationContext.run(
                    EmbeddedServer.class,
                    Map.of(
                        "spec.name",
                        "PendingConnectionsTest",
                        "redis.uri",
                        "redis://127.0.0.1:1",
                        "micronaut.server.port",
                        -1)))
        .hasMessageContaining("connections to Redis cannot be opened")
        .hasStackTraceContaining("Lettuce 6.2.0 is too old");
    opened.cancel(false);
  }

  @Factory
  @Requires(property = "spec.name", value = "PendingConnectionsTest")
  static class TooOld {
    @Singleton
    @Replaces(value = ConnectionSource.class, factory = RedisConnections.class)
    ConnectionSource connections() {
      return RedisConnections.PendingConnections.open(
          "Redis at redis.example:6379",
          () -> {
            throw new IllegalStateException("Lettuce 6.2.0 is too old");
          },
          null);
    }
  }

  private static class Counted implements ConnectionSource {
    final AtomicInteger closed = new AtomicInteger();

    @Override
    public RedisClusterAsyncCommands<byte[], byte[]> commands() {
      throw new AssertionError("not called");
    }

    @Override
    public void close() {
      closed.incrementAndGet();
    }
  }
}
