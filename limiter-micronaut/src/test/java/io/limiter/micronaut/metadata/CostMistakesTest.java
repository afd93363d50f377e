// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.TokenBucket;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;

/** A cost that no call could pay, or that cannot be determined, stops the start. */
class CostMistakesTest extends MistakesContract {

  private static final String BOUNDS =
      "give it 1 to 1000000, or an expression over the arguments, such as \"#{count}\"";

  static Stream<Arguments> mistakes() {
    return Stream.of(
        arguments(CostZero.class, "@RateLimiter.cost = 0", BOUNDS),
        arguments(CostTooLarge.class, "@RateLimiter.cost = 1000001", BOUNDS),
        arguments(CostFraction.class, "@RateLimiter.cost = 1.5", BOUNDS),
        arguments(CostWord.class, "@RateLimiter.cost = five", BOUNDS),
        arguments(CostOverflow.class, "@RateLimiter.cost = 99999999999999", BOUNDS),
        arguments(
            CostAboveCount.class,
            "@RateLimiter.cost = 5: the rule '4-per-60s' admits 4 at once",
            "so no call could ever be admitted: lower the cost, or raise its count"),
        arguments(
            CostAboveCapacity.class,
            "@RateLimiter.cost = 5: the rule '4-at-100-per-60s' admits 4 at once",
            "lower the cost, or raise its count"),
        arguments(
            CostAboveAnonymousCount.class,
            "@RateLimiter.cost = 5: the rule '3-per-60s' admits 3 at once",
            "lower the cost, or raise its count"),
        arguments(
            CostOfNothing.class,
            "@RateLimiter.cost = 5",
            "there is no rule to take it from: add rules, or remove it"),
        arguments(
            TwoCosts.class,
            "@RateLimiter.cost = 2: other rules of this method count the same subject with cost = 5",
            "give all of them one cost, or some of them their own key"),
        arguments(
            CostOnlyOnTheMethod.class,
            "@RateLimiter.cost = 1: other rules of this method count the same subject with cost = #{n}",
            "give all of them one cost, or some of them their own key"));
  }

  @Singleton
  @Requires(property = "spec.name", value = "CostZero")
  static class CostZero {
    @RateLimiter(cost = "0", rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "CostTooLarge")
  static class CostTooLarge {
    @RateLimiter(cost = "1000001", rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "CostFraction")
  static class CostFraction {
    @RateLimiter(cost = "1.5", rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "CostWord")
  static class CostWord {
    @RateLimiter(cost = "five", rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "CostOverflow")
  static class CostOverflow {
    @RateLimiter(cost = "99999999999999", rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "CostAboveCount")
  static class CostAboveCount {
    @RateLimiter(cost = "5", rules = @RateRule)
    @RateRule(count = 4)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "CostAboveCapacity")
  static class CostAboveCapacity {
    @RateLimiter(cost = "5", rules = @RateRule(count = 4, tokenBucket = @TokenBucket(refill = 100)))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "CostAboveAnonymousCount")
  static class CostAboveAnonymousCount {
    @RateLimiter(
        header = "X-Api-Key",
        cost = "5",
        rules = @RateRule,
        anonymousRules = @RateRule(count = 3))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "CostOfNothing")
  static class CostOfNothing {
    @RateLimiter(cost = "5", preventDuplicate = true)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "TwoCosts")
  static class TwoCosts {
    @RateLimiter(cost = "5", rules = @RateRule(count = 10))
    @RateLimiter(cost = "2", rules = @RateRule(count = 20))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "CostOnlyOnTheMethod")
  @RateRule(count = 100)
  static class CostOnlyOnTheMethod {
    @RateLimiter(cost = "#{n}", rules = @RateRule(count = 10))
    void call(int n) {}
  }
}
