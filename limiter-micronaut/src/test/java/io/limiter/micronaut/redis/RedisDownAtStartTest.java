// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.Verdict;
import io.limiter.core.testing.RedisProcess;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** A service starts without its Redis, and needs no other start when that is there. */
class RedisDownAtStartTest {

  private static final Duration HEALS_WITHIN = Duration.ofSeconds(5);

  @AutoClose private final RedisProcess redis = RedisProcess.onFreePort();

  @Test
  void itStartsAtOnceAndDecidesInMemory() {
    long before = System.nanoTime();
    try (Service service = Service.start(redis, "limiter.redis.start-timeout", "60s")) {
      assertThat(Duration.ofNanos(System.nanoTime() - before)).isLessThan(Duration.ofSeconds(20));

      service.fallsBack(1, FailureReason.DISCONNECTED);
      service.fallsBack(Service.COUNT - 1, FailureReason.DISCONNECTED, FailureReason.BREAKER_OPEN);
      Verdict denied = service.call();
      assertThat(denied.allowed()).isFalse();
      assertThat(denied.decidedBy()).isEqualTo(DecidedBy.FALLBACK);
    }
  }

  @Test
  void itDecidesInRedisOnceThatIsThere() {
    try (Service service = Service.start(redis)) {
      service.fallsBack(Service.COUNT, FailureReason.DISCONNECTED, FailureReason.BREAKER_OPEN);
      assertThat(service.call().allowed()).isFalse();

      redis.start();
      await().atMost(HEALS_WITHIN).until(service::decidesInRedis);

      assertThat(service.used()).as("what memory has admitted").isEqualTo(Service.COUNT);
      assertThat(service.call().allowed()).isFalse();
    }
  }

  @Test
  void itWaitsNoLongerThanTheWarmUpForARedisThatIsSilent() {
    redis.start();
    redis.suspend();
    long before = System.nanoTime();
    try (Service service = Service.start(redis, "limiter.redis.start-timeout", "300ms")) {
      assertThat(Duration.ofNanos(System.nanoTime() - before))
          .isBetween(Duration.ofMillis(300), Duration.ofSeconds(20));
      service.fallsBack(3, FailureReason.DISCONNECTED);

      redis.resume();
      await().atMost(HEALS_WITHIN).until(service::decidesInRedis);
      assertThat(service.used()).as("what memory has admitted").isEqualTo(3);
    }
  }

  @Test
  void itIsNotStartedBeforeASlowRedisHasAnswered() {
    redis.start();
    redis.suspend();
    CompletableFuture<Service> starting =
        CompletableFuture.supplyAsync(
            () ->
                Service.start(
                    redis, "limiter.redis.start-timeout", "30s", "limiter.redis.deadline", "10s"));
    await().during(Duration.ofSeconds(1)).until(() -> !starting.isDone());

    redis.resume();

    assertThat(starting).succeedsWithin(Duration.ofSeconds(20));
    try (Service service = starting.join()) {
      assertThat(service.call().decidedBy()).isEqualTo(DecidedBy.STORE);
    }
  }
}
