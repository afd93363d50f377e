// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisURI;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.redis.SharedConnection;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/**
 * A blocking call on an event loop is detected, so that {@link EventLoopExtension} fails its test.
 */
class EventLoopBlockingTest {

  private static final LimitRequest CALL =
      LimitRequest.of(
          Policy.of("blocking", SlidingWindowLogRule.of(1_000, Duration.ofHours(1))),
          Subject.global());

  @Test
  void aSleepOnAnEventLoopOfNettyIsSeen() throws Exception {
    EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    try {
      loops.submit(EventLoopBlockingTest::sleep).get();
    } finally {
      loops.shutdownGracefully(0, 2, TimeUnit.SECONDS);
    }

    assertSlept("multiThreadIoEventLoopGroup-");
  }

  @Test
  void aSleepOnLettucesThreadIsSeen() {
    try (RedisProcess redis = RedisProcess.onFreePort().start();
        LimitStore store = store(redis, Duration.ofSeconds(10))) {
      await().until(() -> decided(store.decide(CALL, Mode.ACQUIRE)));
      CompletableFuture<?> slept = sleepAfterADecision(redis, store);
      redis.resume();
      slept.join();

      assertSlept("lettuce-");
    }
  }

  @Test
  void aSleepOnTheTimerOfTheHardDeadlineIsSeen() {
    try (RedisProcess redis = RedisProcess.onFreePort().start();
        LimitStore store = store(redis, Duration.ofMillis(200))) {
      await().until(() -> decided(store.decide(CALL, Mode.ACQUIRE)));
      AtomicBoolean busy = new AtomicBoolean();
      await()
          .until(
              () -> {
                var unused = store.decide(CALL, Mode.ACQUIRE).thenRun(() -> busyOnItsLoop(busy));
                return busy.get();
              });
      store
          .decide(CALL, Mode.ACQUIRE)
          .whenComplete((verdict, failure) -> sleep())
          .exceptionally(late -> null)
          .toCompletableFuture()
          .join();

      assertSlept("limiter-deadline-");
    }
  }

  /** Where the decision was completed by the connection's event loop, and not before. */
  private static void busyOnItsLoop(AtomicBoolean busy) {
    if (Thread.currentThread().getName().startsWith("lettuce-")
        && busy.compareAndSet(false, true)) {
      busyFor(Duration.ofSeconds(1));
    }
  }

  private static void busyFor(Duration time) {
    long end = System.nanoTime() + time.toNanos();
    long now = end;
    do {
      now = System.nanoTime();
    } while (now - end < 0);
  }

  /** The reply arrives after this returns, so that this thread is not the one that sleeps. */
  private static CompletableFuture<?> sleepAfterADecision(RedisProcess redis, LimitStore store) {
    redis.suspend();
    return store
        .decide(CALL, Mode.ACQUIRE)
        .whenComplete((verdict, failure) -> sleep())
        .exceptionally(late -> null)
        .toCompletableFuture();
  }

  @Test
  void aSleepOnAnotherThreadIsNotReported() {
    sleep();

    assertThat(EventLoopBlocking.take()).isEmpty();
  }

  private static LimitStore store(RedisProcess redis, Duration deadline) {
    RedisSettings settings =
        new RedisSettings(RedisSettings.DEFAULT_PREFIX, deadline).withHardDeadline(deadline);
    return new RedisStore(SharedConnection.open(RedisURI.create(redis.uri()), settings), settings);
  }

  private static boolean decided(CompletionStage<?> stage) {
    try {
      return stage.toCompletableFuture().join() != null;
    } catch (CompletionException notYet) {
      return false;
    }
  }

  private static void sleep() {
    try {
      Thread.sleep(1);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void assertSlept(String thread) {
    List<Throwable> seen = EventLoopBlocking.take();
    assertThat(seen).hasSize(1);
    assertThat(seen.get(0)).hasMessageContainingAll("java.lang.Thread.sleep", " on " + thread);
  }
}
