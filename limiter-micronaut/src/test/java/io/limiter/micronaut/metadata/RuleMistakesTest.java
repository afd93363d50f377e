// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.provider.Arguments;

/** An invalid rule stops the start: which method, member, value, and what to do. */
class RuleMistakesTest extends MistakesContract {

  private static final String TIME_REMEDY = "give it 1 ms to 366 days";

  static Stream<Arguments> mistakes() {
    return Stream.of(
        arguments(CountZero.class, "@RateRule.count = 0", "give it 1 or more"),
        arguments(CountNegative.class, "@RateRule.count = -1", "give it 1 or more"),
        arguments(CountNested.class, "@RateLimiter.rules.count = 0", "give it 1 or more"),
        arguments(
            CountTooLarge.class,
            "@RateRule.count = 10001",
            "counts are limited to 10000: lower it, or raise limiter.max-count, or use algorithm = SLIDING_WINDOW_COUNTER or TOKEN_BUCKET"),
        arguments(TimeZero.class, "@RateRule.time = 0", "give it 1 or more"),
        arguments(TimeNegative.class, "@RateRule.time = -60", "give it 1 or more"),
        arguments(TimeOverflows.class, "@RateRule.time = 9223372036854775807 DAYS", TIME_REMEDY),
        arguments(TimeBelowOneMilli.class, "@RateRule.time = 999999 NANOSECONDS", TIME_REMEDY),
        arguments(TimeAboveOneYear.class, "@RateRule.time = 367 DAYS", TIME_REMEDY),
        arguments(
            TimeBetweenMicros.class,
            "@RateRule.time = 1000001 NANOSECONDS",
            "give it whole microseconds"),
        arguments(
            NoRules.class,
            "@RateLimiter.rules = {}",
            "give it a rule, add a @RateRule in the same place, or set preventDuplicate"),
        arguments(NineRules.class, "9 rules in one stack", "give it 1 to 8"),
        arguments(
            OneNameTwice.class,
            "@RateRule.name = fair-use: another rule of this method has this name",
            "give it another name"));
  }

  @Test
  void aCountAboveTheMaximumIsAllowedOnceTheMaximumIsRaised() {
    assertThatNoException()
        .isThrownBy(
            () ->
                ApplicationContext.run(
                        Map.of("spec.name", "CountTooLarge", "limiter.max-count", 10_001))
                    .close());
  }

  @Test
  void mistakesAreIgnoredWhileTheLimiterIsOff() {
    assertThatNoException()
        .isThrownBy(
            () ->
                ApplicationContext.run(Map.of("spec.name", "CountZero", "limiter.enabled", false))
                    .close());
  }

  @Singleton
  @Requires(property = "spec.name", value = "CountZero")
  static class CountZero {
    @RateRule(count = 0)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "CountNegative")
  static class CountNegative {
    @RateRule(count = 5, time = 1)
    @RateRule(count = -1)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "CountNested")
  static class CountNested {
    @RateLimiter(rules = @RateRule(count = 0))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "CountTooLarge")
  static class CountTooLarge {
    @RateRule(count = 10_001)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "TimeZero")
  static class TimeZero {
    @RateRule(time = 0)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "TimeNegative")
  static class TimeNegative {
    @RateRule(time = -60)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "TimeOverflows")
  static class TimeOverflows {
    @RateRule(time = Long.MAX_VALUE, timeUnit = TimeUnit.DAYS)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "TimeBelowOneMilli")
  static class TimeBelowOneMilli {
    @RateRule(time = 999_999, timeUnit = TimeUnit.NANOSECONDS)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "TimeAboveOneYear")
  static class TimeAboveOneYear {
    @RateRule(time = 367, timeUnit = TimeUnit.DAYS)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "TimeBetweenMicros")
  static class TimeBetweenMicros {
    @RateRule(count = 1, time = 1_000_001, timeUnit = TimeUnit.NANOSECONDS)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "NoRules")
  static class NoRules {
    @RateLimiter
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "NineRules")
  static class NineRules {
    @RateLimiter(
        rules = {
          @RateRule(count = 1),
          @RateRule(count = 2),
          @RateRule(count = 3),
          @RateRule(count = 4),
          @RateRule(count = 5)
        })
    @RateRule(count = 6)
    @RateRule(count = 7)
    @RateRule(count = 8)
    @RateRule(count = 9)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "OneNameTwice")
  static class OneNameTwice {
    @RateRule(count = 1, name = "fair-use")
    @RateRule(count = 2, name = "fair-use")
    void call() {}
  }
}
