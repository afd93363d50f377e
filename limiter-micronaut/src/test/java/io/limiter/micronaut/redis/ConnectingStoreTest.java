// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.outage.FallbackStore;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.testing.RedisFixture;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.StartupEvent;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.order.Ordered;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/** What is to be decided while the service still connects. */
class ConnectingStoreTest {

  private static final LimitRequest CALL =
      LimitRequest.of(
          Policy.of("early", SlidingWindowLogRule.of(1, Duration.ofMinutes(1))),
          new Subject("user", "ann"));

  private final CompletableFuture<Boolean> attempt = new CompletableFuture<>();

  private LimitStore store(Duration longest) {
    return new FallbackStore(new MemoryStore(), new MemoryStore())
        .whileConnecting(attempt, longest);
  }

  @Test
  void itWaitsForTheEndOfTheFirstAttempt() {
    Limiter limiter = new Limiter(store(Duration.ofMinutes(1)));
    CompletableFuture<Verdict> early = limiter.acquire(CALL).toCompletableFuture();
    assertThat(early).isNotDone();

    attempt.complete(true);

    assertThat(early).isCompletedWithValueMatching(Verdict::allowed);
    assertThat(limiter.acquire(CALL).toCompletableFuture())
        .isCompletedWithValueMatching(later -> !later.allowed());
  }

  @Test
  void anAttemptThatFailsEndsTheWaitToo() {
    CompletableFuture<Verdict> early =
        new Limiter(store(Duration.ofMinutes(1))).acquire(CALL).toCompletableFuture();

    attempt.completeExceptionally(new IllegalStateException("no such host"));

    assertThat(early).isCompletedWithValueMatching(Verdict::allowed);
  }

  @Test
  void itWaitsNoLongerThanTheStartWould() {
    assertThat(new Limiter(store(Duration.ofMillis(20))).acquire(CALL).toCompletableFuture())
        .succeedsWithin(Duration.ofSeconds(10))
        .matches(Verdict::allowed);
  }

  @Test
  void aResetWhileItConnectsIsDoneAfterwards() {
    Limiter limiter = new Limiter(store(Duration.ofMinutes(1)));
    CompletableFuture<Verdict> early = limiter.acquire(CALL).toCompletableFuture();
    CompletableFuture<Void> reset = limiter.reset(CALL).toCompletableFuture();

    attempt.complete(false);

    assertThat(early).isCompleted();
    assertThat(reset).isCompleted();
  }

  /** An application's own, which asks as early as it can. */
  @Singleton
  @Order(Ordered.HIGHEST_PRECEDENCE)
  @Requires(property = "spec.name", value = "ConnectingStoreTest")
  static class EarlyBird implements ApplicationEventListener<StartupEvent> {
    private final CompletionStage<Verdict> verdict;

    EarlyBird(Limiter limiter) {
      verdict = limiter.peek(CALL);
    }

    @Override
    public void onApplicationEvent(StartupEvent started) {}
  }

  @Test
  void anApplicationThatAsksWhileItStartsIsAnsweredByRedis() {
    try (ApplicationContext context =
        ApplicationContext.run(
            Map.of(
                "spec.name", "ConnectingStoreTest",
                "redis.uri", RedisFixture.uri(),
                "limiter.redis.deadline", "10s",
                "limiter.redis.start-timeout", "10s"))) {
      assertThat(context.getBean(EarlyBird.class).verdict.toCompletableFuture())
          .succeedsWithin(Duration.ofSeconds(10))
          .matches(verdict -> verdict.decidedBy() == DecidedBy.STORE);
    }
  }
}
