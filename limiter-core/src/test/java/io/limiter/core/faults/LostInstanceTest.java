// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisURI;
import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.redis.SharedConnection;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.testing.RedisProcess;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** An instance dies with calls in flight; by Redis' own clock. */
@Tag("faults")
class LostInstanceTest {

  private static final Duration PERMIT_DURATION = ConcurrencyLimitRule.MIN_PERMIT_DURATION;

  /** For a machine that is busy with other work. */
  private static final Duration SLACK = Duration.ofSeconds(10);

  private static final LimitRequest CALL =
      LimitRequest.of(
          Policy.of("export", ConcurrencyLimitRule.of(3, PERMIT_DURATION)),
          new Subject("user", "ada"));

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
  private final List<LimitStore> instances = new ArrayList<>();

  @AfterEach
  void close() {
    timer.shutdownNow();
    instances.forEach(LimitStore::close);
    redis.close();
  }

  private LimitStore instance() {
    RedisSettings settings = new RedisSettings("limiter:", SLACK);
    SharedConnection shared = SharedConnection.open(RedisURI.create(redis.uri()), settings);
    assertThat(shared.firstAttempt()).succeedsWithin(SLACK).isEqualTo(true);
    LimitStore store = new RedisStore(shared, settings);
    instances.add(store);
    return store;
  }

  private static Verdict acquire(LimitStore instance) {
    return instance.decide(CALL, Mode.ACQUIRE).toCompletableFuture().join();
  }

  @Test
  void thePermitsOfADeadInstanceAreFreeOneDurationLaterAndOthersAreHeld() {
    LimitStore here = instance();
    LimitStore lost = instance();
    Verdict running = acquire(here);
    timer.scheduleAtFixedRate(
        () -> running.reservation().renewPermits(),
        0,
        PERMIT_DURATION.toMillis() / 3,
        TimeUnit.MILLISECONDS);
    long before = System.nanoTime();
    assertThat(acquire(lost).allowed()).isTrue();
    assertThat(acquire(lost).allowed()).isTrue();
    lost.close(); // nothing of it is settled, nor renewed
    instances.remove(lost);

    await().atMost(PERMIT_DURATION.plus(SLACK)).until(() -> acquire(here).allowed());
    assertThat(Duration.ofNanos(System.nanoTime() - before))
        .isGreaterThanOrEqualTo(PERMIT_DURATION);
    await().atMost(PERMIT_DURATION.plus(SLACK)).until(() -> acquire(here).allowed());
    assertThat(acquire(here).allowed()).as("a fourth while three are held").isFalse();
    assertThat(running.reservation().settle(Completion.succeeded()))
        .succeedsWithin(SLACK)
        .isEqualTo(1L);
    assertThat(acquire(here).allowed()).as("in the place that was settled").isTrue();
  }
}
