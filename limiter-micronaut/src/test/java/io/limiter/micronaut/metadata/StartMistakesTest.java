// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.ResultCost;
import io.limiter.micronaut.annotation.StreamBudget;
import io.limiter.micronaut.annotation.StreamEnd;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import jakarta.inject.Singleton;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/**
 * A mistake in annotations stops the start, unless settings correct it. The mistakes themselves are
 * a table of limiter-processor, whose test compiles them and plans them as at the start.
 */
class StartMistakesTest {

  @Singleton
  @Requires(property = "spec.name", value = "Mistaken")
  static class Mistaken {
    @RateRule(count = 10_001)
    void countTooLarge() {}
  }

  @Test
  void aMistakeStopsTheStart() {
    assertThat(Starts.mistake(Map.of("spec.name", "Mistaken")))
        .hasMessageStartingWith(Mistaken.class.getName() + ".countTooLarge(): @RateRule.count");
  }

  @Test
  void aCountAboveTheMaximumIsAllowedOnceTheMaximumIsRaised() {
    assertStarts(Map.of("spec.name", "Mistaken", "limiter.max-count", 10_001));
  }

  @Test
  void mistakesAreIgnoredWhileTheLimiterIsOff() {
    assertStarts(Map.of("spec.name", "Mistaken", "limiter.enabled", false));
  }

  private static void assertStarts(Map<String, Object> settings) {
    assertThatNoException().isThrownBy(() -> ApplicationContext.run(settings).close());
  }

  @Test
  void nothingIsBeforeSecurityWithoutTheGate() {
    assertThat(Starts.mistake(Map.of("spec.name", "EarlyAddress", "limiter.gate.enabled", "false")))
        .hasMessageStartingWith(
            EarlyAddress.class.getName() + ".call(): @RateLimiter.beforeSecurity = true")
        .hasMessageContaining("limiter.gate.enabled = false")
        .hasMessageContaining("enable the gate, or remove it");
  }

  @Controller("/early")
  @Requires(property = "spec.name", value = "EarlyAddress")
  static class EarlyAddress {
    @Get
    @RateLimiter(beforeSecurity = true, rules = @RateRule)
    void call() {}
  }

  @Test
  void eightRulesOfEachSubjectAreFine() {
    assertThatNoException().isThrownBy(() -> Starts.inMemory("Sixteen").close());
  }

  @Singleton
  @Requires(property = "spec.name", value = "Sixteen")
  static class Sixteen {
    @RateLimiter(
        rules = {
          @RateRule(count = 1),
          @RateRule(count = 2),
          @RateRule(count = 3),
          @RateRule(count = 4),
          @RateRule(count = 5),
          @RateRule(count = 6),
          @RateRule(count = 7),
          @RateRule(count = 8)
        })
    @RateLimiter(
        limitType = LimitType.GLOBAL,
        rules = {
          @RateRule(count = 1),
          @RateRule(count = 2),
          @RateRule(count = 3),
          @RateRule(count = 4),
          @RateRule(count = 5),
          @RateRule(count = 6),
          @RateRule(count = 7),
          @RateRule(count = 8)
        })
    void call() {}
  }

  @Test
  void limitsThatDoNotDependOnTheEndOfACallAreAllowed() throws Exception {
    try (ApplicationContext context = Starts.inMemory("UnseenEnd")) {
      Allowed allowed = context.getBean(Allowed.class);
      assertThat(allowed.limited("7").get()).isEqualTo("ok");
      assertThat(allowed.stage().join()).isEqualTo("ok");
      assertThat(allowed.stage().join()).isEqualTo("ok");
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = "UnseenEnd")
  static class Allowed {
    @RateLimiter(
        limitType = LimitType.GLOBAL,
        rules = @RateRule(count = 1, time = 60),
        preventDuplicate = true,
        duplicate = @Duplicate(releaseOnFailure = false))
    Future<String> limited(String order) {
      return CompletableFuture.completedFuture("ok");
    }

    @RateLimiter(
        limitType = LimitType.GLOBAL,
        rules = @RateRule(count = 1, algorithm = Algorithm.CONCURRENCY_LIMIT))
    CompletableFuture<String> stage() {
      return CompletableFuture.completedFuture("ok");
    }
  }

  @Test
  void aResponseMayBeAStream() {
    assertThatNoException().isThrownBy(() -> Starts.inMemory("PerhapsAStream").close());
  }

  @Singleton
  @Requires(property = "spec.name", value = "PerhapsAStream")
  static class PerhapsAStream {
    @RateLimiter(
        cost = "5",
        resultCost = Units.class,
        stream = @StreamBudget(end = StreamEnd.CUT),
        rules = @RateRule)
    HttpResponse<?> perhapsAStream() {
      return HttpResponse.ok();
    }

    @RateLimiter(cost = "5", resultCost = Units.class, rules = @RateRule(counts = Counts.FAILURES))
    HttpResponse<?> perhapsAStreamByOutcome() {
      return HttpResponse.ok();
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = "PerhapsAStream")
  static class Units implements ResultCost {
    @Override
    public long of(Object result) {
      return 1;
    }
  }
}
