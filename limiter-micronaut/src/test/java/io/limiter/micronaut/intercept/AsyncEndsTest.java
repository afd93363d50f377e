// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Requires;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.Async;
import jakarta.inject.Named;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/**
 * A call of an @Async method ends with the method, not where it is handed to another thread. {@code
 * AsyncRoutesTest} has the same of routes.
 */
class AsyncEndsTest {

  private static final String SPEC = "AsyncEndsTest";
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  @AutoClose private final ApplicationContext context = Starts.inMemory(SPEC);
  private final Jobs jobs = context.getBean(Jobs.class);

  @Factory
  @Requires(property = "spec.name", value = SPEC)
  static class Closed {
    @Singleton
    @Named("closed")
    ExecutorService closed() {
      ExecutorService closed = Executors.newSingleThreadExecutor();
      closed.shutdown();
      return closed;
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Jobs {

    final AtomicInteger begun = new AtomicInteger();
    final AtomicInteger ended = new AtomicInteger();

    @Async("closed")
    @RateRule(count = 1, limitType = LimitType.GLOBAL, algorithm = Algorithm.CONCURRENCY_LIMIT)
    void neverBegun() {}

    @Async(TaskExecutors.IO)
    @RateRule(count = 2, limitType = LimitType.GLOBAL, counts = Counts.FAILURES)
    void failures(boolean fail) {
      run(fail);
    }

    @Async(TaskExecutors.IO)
    @RateRule(count = 2, limitType = LimitType.GLOBAL, counts = Counts.SUCCESSES)
    void successes(boolean fail) {
      run(fail);
    }

    private void run(boolean fail) {
      begun.incrementAndGet();
      try {
        if (fail) {
          throw new IllegalStateException("failed");
        }
      } finally {
        ended.incrementAndGet();
      }
    }
  }

  @Test
  void itFreesItsPlaceIfItsExecutorTakesNothing() {
    for (int i = 0; i < 3; i++) {
      assertThatExceptionOfType(RejectedExecutionException.class).isThrownBy(jobs::neverBegun);
    }
  }

  @Test
  void itsFailureIsCounted() {
    for (int i = 0; i < 2; i++) {
      int call = i;
      jobs.failures(true);
      await().atMost(PATIENCE).until(() -> jobs.ended.get() == call + 1);
    }

    await()
        .atMost(PATIENCE)
        .untilAsserted(
            () ->
                assertThatExceptionOfType(RateLimitExceededException.class)
                    .isThrownBy(() -> jobs.failures(false)));
  }

  @Test
  void itsSuccessIsCountedAndItsFailureIsNot() {
    for (int i = 0; i < 5; i++) {
      int call = i;
      await().atMost(PATIENCE).ignoreExceptions().untilAsserted(() -> jobs.successes(true));
      await().atMost(PATIENCE).until(() -> jobs.ended.get() == call + 1);
    }
    for (int i = 0; i < 2; i++) {
      await().atMost(PATIENCE).ignoreExceptions().untilAsserted(() -> jobs.successes(false));
    }

    await()
        .atMost(PATIENCE)
        .untilAsserted(
            () ->
                assertThatExceptionOfType(RateLimitExceededException.class)
                    .isThrownBy(() -> jobs.successes(false)));
  }
}
