// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisURI;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisProcess;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * A container closes connections, and the store that uses them closes them too. The second close
 * must not end the threads that the first still needs to report the end of a channel.
 */
class ClosedTwiceTest {

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final MultiThreadIoEventLoopGroup group =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final EventLoop loop = (EventLoop) group.next();
  private final RecordedLog rejected =
      RecordedLog.of("io.netty.util.concurrent.DefaultPromise.rejectedExecution");

  @AfterEach
  void close() {
    rejected.close();
    group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    redis.close();
  }

  @Test
  void aBusyLoopStillReportsThatItsChannelHasEnded() {
    LoopConnections connections =
        LoopConnections.open(List.of(loop), RedisURI.create(redis.uri()), RedisSettings.defaults());
    // The first attempt may fail on a busy machine; the connection comes with a later one.
    await()
        .atMost(Duration.ofMinutes(1))
        .until(() -> connections.isClusterNode().toCompletableFuture().isDone());
    loop.execute(() -> spin(Duration.ofMillis(500)));

    connections.close();
    connections.close();

    assertThat(loop.submit(() -> {}).awaitUninterruptibly(5, TimeUnit.SECONDS)).isTrue();
    assertThat(rejected.messages()).isEmpty();
  }

  /** A busy loop: event loops must not block, and not even Thread.onSpinWait is allowed there. */
  private static void spin(Duration time) {
    long begin = System.nanoTime();
    long now = begin;
    while (now - begin < time.toNanos()) {
      now = System.nanoTime();
    }
  }
}
