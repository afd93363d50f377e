// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.provider.Arguments;

/** What depends on the end of a call stops the start where that end cannot be seen. */
class UnseenCompletionMistakesTest extends MistakesContract {

  private static final String REMEDY =
      "the method returns java.util.concurrent.Future, which does not show when a call ends: return a CompletionStage or a Publisher";

  static Stream<Arguments> mistakes() {
    return Stream.of(
        arguments(
            FutureInFlight.class, "@RateRule.algorithm = CONCURRENCY_LIMIT", REMEDY + ", or "),
        arguments(FutureFailures.class, "@RateRule.counts = FAILURES", REMEDY + ", or "),
        arguments(FutureSuccesses.class, "@RateLimiter.rules.counts = SUCCESSES", REMEDY + ", or "),
        arguments(
            FutureDuplicates.class,
            "@RateLimiter.preventDuplicate = true",
            REMEDY + ", or write duplicate = @Duplicate(releaseOnFailure = false)"),
        arguments(
            FutureReleasedOn.class,
            "@RateLimiter.duplicate.releaseOn = [500]",
            REMEDY + ", or write duplicate = @Duplicate(releaseOnFailure = false)"));
  }

  @Singleton
  @Requires(property = "spec.name", value = "FutureInFlight")
  static class FutureInFlight {
    @RateRule(count = 2, algorithm = Algorithm.CONCURRENCY_LIMIT)
    Future<String> call() {
      return new CompletableFuture<>();
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = "FutureFailures")
  static class FutureFailures {
    @RateRule(counts = Counts.FAILURES)
    Future<String> call() {
      return new CompletableFuture<>();
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = "FutureSuccesses")
  static class FutureSuccesses {
    @RateLimiter(rules = @RateRule(counts = Counts.SUCCESSES))
    Future<String> call() {
      return new CompletableFuture<>();
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = "FutureDuplicates")
  static class FutureDuplicates {
    @RateLimiter(preventDuplicate = true)
    Future<String> call(String order) {
      return new CompletableFuture<>();
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = "FutureReleasedOn")
  static class FutureReleasedOn {
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(releaseOn = 500))
    Future<String> call(String order) {
      return new CompletableFuture<>();
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = "UnseenEndMistakesTest")
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
  void limitsThatDoNotDependOnTheEndOfACallAreAllowed() throws Exception {
    try (ApplicationContext context = Starts.inMemory("UnseenEndMistakesTest")) {
      Allowed allowed = context.getBean(Allowed.class);
      assertThat(allowed.limited("7").get()).isEqualTo("ok");
      assertThat(allowed.stage().join()).isEqualTo("ok");
      assertThat(allowed.stage().join()).isEqualTo("ok");
    }
  }
}
