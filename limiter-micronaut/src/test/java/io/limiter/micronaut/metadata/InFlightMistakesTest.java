// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Ban;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.TokenBucket;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;

/** An invalid limit of calls in flight stops the start. */
class InFlightMistakesTest extends MistakesContract {

  private static final String PERMIT_TIME =
      "it is the time after which a concurrency permit expires. A permit is renewed each third of it, so it must be longer than a pause of the service; it is also the time for which a permit stays taken if the service dies: give it 1 s to 1 h";

  static Stream<Arguments> mistakes() {
    return Stream.of(
        arguments(PermitTimeTooShort.class, "@RateRule.time = 999 MILLISECONDS", PERMIT_TIME),
        arguments(PermitTimeTooLong.class, "@RateRule.time = 61 MINUTES", PERMIT_TIME),
        arguments(LeaseZero.class, "@RateRule.time = 0", "give it 1 or more"),
        arguments(
            TooManyPlaces.class,
            "@RateRule.count = 10001",
            "each call in flight is stored separately: give it 1 to 10000"),
        arguments(
            FailuresInFlight.class,
            "@RateRule.counts = FAILURES",
            "algorithm = CONCURRENCY_LIMIT counts calls while they run, when their completion is not yet known: remove it, or write another algorithm"),
        arguments(
            RefillInFlight.class,
            "@RateRule.algorithm = CONCURRENCY_LIMIT",
            "tokenBucket already defines how the rule counts: remove one of them"),
        arguments(
            BanInFlight.class,
            "@RateLimiter.ban = 5 within PT1M for PT1M",
            "its rules limit calls in flight, and the time until a permit is free is unknown: add other rules, or remove it"),
        arguments(
            CostInFlight.class,
            "@RateLimiter.cost = 5",
            "a concurrency limit takes one permit for each call, whatever its cost: add other rules, or remove it"),
        arguments(
            DuplicatesInFlight.class,
            "@RateLimiter.preventDuplicateRule.algorithm = CONCURRENCY_LIMIT",
            "a duplicate guard stores each submission, which only the exact log does: remove it"));
  }

  @Singleton
  @Requires(property = "spec.name", value = "PermitTimeTooShort")
  static class PermitTimeTooShort {
    @RateRule(time = 999, timeUnit = TimeUnit.MILLISECONDS, algorithm = Algorithm.CONCURRENCY_LIMIT)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "PermitTimeTooLong")
  static class PermitTimeTooLong {
    @RateRule(time = 61, timeUnit = TimeUnit.MINUTES, algorithm = Algorithm.CONCURRENCY_LIMIT)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "LeaseZero")
  static class LeaseZero {
    @RateRule(time = 0, algorithm = Algorithm.CONCURRENCY_LIMIT)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "TooManyPlaces")
  static class TooManyPlaces {
    @RateRule(count = 10_001, algorithm = Algorithm.CONCURRENCY_LIMIT)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "FailuresInFlight")
  static class FailuresInFlight {
    @RateRule(counts = Counts.FAILURES, algorithm = Algorithm.CONCURRENCY_LIMIT)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "RefillInFlight")
  static class RefillInFlight {
    @RateRule(tokenBucket = @TokenBucket(refill = 5), algorithm = Algorithm.CONCURRENCY_LIMIT)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "BanInFlight")
  static class BanInFlight {
    @RateLimiter(rules = @RateRule(algorithm = Algorithm.CONCURRENCY_LIMIT), ban = @Ban)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "CostInFlight")
  static class CostInFlight {
    @RateLimiter(cost = "5", rules = @RateRule(algorithm = Algorithm.CONCURRENCY_LIMIT))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "DuplicatesInFlight")
  static class DuplicatesInFlight {
    @RateLimiter(
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(algorithm = Algorithm.CONCURRENCY_LIMIT))
    void call() {}
  }
}
