// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisURI;
import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.testing.RedisProcess;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The event loop of a connection stands still while Redis is healthy. */
class LateProcessTest {

  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final Duration DEADLINE = Duration.ofMillis(50);
  private static final Duration HARD = Duration.ofSeconds(1);
  private static final int COUNT = 1_000;

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final MultiThreadIoEventLoopGroup group =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final EventLoop loop = (EventLoop) group.iterator().next();
  private final RedisSettings settings =
      new RedisSettings(RedisSettings.DEFAULT_PREFIX, DEADLINE).withHardDeadline(HARD);
  private final LoopConnections connections =
      LoopConnections.open(List.of(loop), RedisURI.create(redis.uri()), settings);
  private final RedisStore store = new RedisStore(connections, settings);

  LateProcessTest() {
    assertThat(connections.firstAttempt().toCompletableFuture())
        .succeedsWithin(PATIENCE)
        .isEqualTo(true);
  }

  @AfterEach
  void close() {
    store.close();
    group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    redis.close();
  }

  @Test
  void commandsOnTheWireAreDecidedByRedisThoughTheLoopStandsStill() {
    List<CompletableFuture<Verdict>> calls = new ArrayList<>();
    CompletableFuture<Void> sent = new CompletableFuture<>();
    loop.execute(
        () -> {
          for (int i = 0; i < 20; i++) {
            calls.add(decide("sent").toCompletableFuture());
          }
          standStill(HARD.dividedBy(2));
          sent.complete(null);
        });

    assertThat(sent).succeedsWithin(PATIENCE);
    assertThat(calls).allSatisfy(LateProcessTest::assertDecidedByRedis);
  }

  @Test
  void commandsThatWaitForTheLoopAreDecidedByRedis() {
    loop.execute(() -> standStill(HARD.dividedBy(2)));

    for (int i = 0; i < 5; i++) {
      assertDecidedByRedis(decide("waits").toCompletableFuture());
    }
  }

  /** As while it loads classes, or gets only a share of a processor. */
  @Test
  void aLoopThatIsLateAtEachTurnIsNoReasonForTheFallback() {
    boolean[] busy = {true};
    loop.execute(
        new Runnable() {
          @Override
          public void run() {
            standStill(DEADLINE);
            if (busy[0]) {
              loop.schedule(this, 1, TimeUnit.MILLISECONDS);
            }
          }
        });
    for (int i = 0; i < 3; i++) {
      assertDecidedByRedis(decide("late").toCompletableFuture());
    }
    busy[0] = false;
  }

  @Test
  void atTheHardDeadlineTheProcessIsLateAndTheCommandNeverRuns() {
    loop.execute(() -> standStill(HARD.multipliedBy(2)));
    long asked = System.nanoTime();
    CompletableFuture<Verdict> call = decide("hard").toCompletableFuture();

    assertThat(call)
        .failsWithin(PATIENCE)
        .withThrowableThat()
        .havingRootCause()
        .isInstanceOfSatisfying(
            StoreException.class,
            late -> assertThat(late.reason()).isEqualTo(FailureReason.PROCESS_LATE))
        .withMessageStartingWith("The event loop of the connection to Redis at ")
        .withMessageContaining(" did not run for ");
    assertThat(Duration.ofNanos(System.nanoTime() - asked)).isBetween(HARD, HARD.multipliedBy(2));
    assertThat(remaining("hard")).as("units left once the loop runs again").isEqualTo(COUNT);
  }

  @Test
  void aLateProcessDoesNotOpenTheBreaker() {
    loop.execute(() -> standStill(HARD.multipliedBy(2)));
    List<CompletableFuture<Verdict>> calls = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      calls.add(decide("breaker").toCompletableFuture());
    }
    calls.forEach(call -> assertThat(call).failsWithin(PATIENCE));
    assertThat(loop.submit(() -> {}).awaitUninterruptibly(PATIENCE.toMillis())).isTrue();

    assertDecidedByRedis(store.decide(request("breaker"), Mode.ACQUIRE).toCompletableFuture());
  }

  @Test
  void aSilentRedisIsLateAtTheDeadline() {
    redis.suspend();
    long asked = System.nanoTime();
    CompletableFuture<Verdict> call = decide("silent").toCompletableFuture();

    assertThat(call)
        .failsWithin(PATIENCE)
        .withThrowableThat()
        .havingRootCause()
        .isInstanceOfSatisfying(
            StoreException.class,
            late -> assertThat(late.reason()).isEqualTo(FailureReason.TIMEOUT));
    assertThat(Duration.ofNanos(System.nanoTime() - asked)).isGreaterThanOrEqualTo(DEADLINE);
    redis.resume();
    await().atMost(PATIENCE).until(() -> remaining("silent") == COUNT - 1);
  }

  private CompletionStage<Verdict> decide(String subject) {
    return store.decide(request(subject), Mode.ACQUIRE);
  }

  private static LimitRequest request(String subject) {
    return LimitRequest.of(
        Policy.of("late", SlidingWindowLogRule.of(COUNT, Duration.ofHours(1))),
        new Subject("test", subject));
  }

  private long remaining(String subject) {
    CompletableFuture<Verdict> peek = new CompletableFuture<>();
    await()
        .atMost(PATIENCE)
        .until(
            () ->
                store
                    .decide(request(subject), Mode.PEEK)
                    .handle((verdict, failure) -> verdict != null && peek.complete(verdict))
                    .toCompletableFuture()
                    .join());
    return peek.join().rules().get(0).remaining();
  }

  private static void assertDecidedByRedis(CompletableFuture<Verdict> call) {
    assertThat(call)
        .succeedsWithin(PATIENCE)
        .satisfies(verdict -> assertThat(verdict.decidedBy()).isEqualTo(DecidedBy.STORE));
  }

  /** A busy loop: the blocking check would detect a waiting thread. */
  private static void standStill(Duration time) {
    long end = System.nanoTime() + time.toNanos();
    long now = end;
    do {
      now = System.nanoTime();
    } while (now - end < 0);
  }
}
