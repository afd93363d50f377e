// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.TokenBucket;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;

/** Members of an algorithm make sense with it, or stop the start. */
class AlgorithmMistakesTest extends MistakesContract {

  private static final String TWO =
      "tokenBucket already defines how the rule counts: remove one of them";
  private static final String ONLY_LOGS =
      "a duplicate guard stores each submission, which only the exact log does: remove it";

  static Stream<Arguments> mistakes() {
    return Stream.of(
        arguments(GreedyCounter.class, "@RateRule.algorithm = SLIDING_WINDOW_COUNTER", TWO),
        arguments(InitialOfWindow.class, "@RateRule.algorithm = FIXED_WINDOW", TWO),
        arguments(BucketTwice.class, "@RateRule.algorithm = TOKEN_BUCKET", TWO),
        arguments(
            BucketOfWindows.class,
            "@RateRule.tokenBucket = @TokenBucket",
            "fixedWindow already defines how the rule counts: remove one of them"),
        arguments(CounterTooLarge.class, "@RateRule.count = 1000000001", "give it 1 to 1000000000"),
        arguments(
            RefillZero.class,
            "@RateRule.tokenBucket.refill = 0",
            "give it 1 to 1000000000, or leave it out to use count"),
        arguments(
            RefillNegative.class, "@RateRule.tokenBucket.refill = -5", "give it 1 to 1000000000"),
        arguments(
            InitialAboveCount.class,
            "@RateRule.tokenBucket.initial = 11",
            "give it 0 to 10, which is its count, or leave it out to start with a full bucket"),
        arguments(InitialNegative.class, "@RateRule.tokenBucket.initial = -2", "give it 0 to 10"),
        arguments(
            RefillTooSlow.class,
            "@RateRule.tokenBucket.refill = 1: The rule '1000-at-1-per-86400s' fills its bucket in",
            "give it 1 ms to 366 days"),
        arguments(
            RefillInexact.class,
            "@RateRule.tokenBucket.refill = 999999937: The rule ",
            "which cannot be counted exactly up to 1000000000: give it rounder numbers, or a shorter interval"),
        arguments(
            BucketAsGuard.class,
            "@RateLimiter.preventDuplicateRule.algorithm = TOKEN_BUCKET",
            ONLY_LOGS));
  }

  @Singleton
  @Requires(property = "spec.name", value = "GreedyCounter")
  static class GreedyCounter {
    @RateRule(
        tokenBucket = @TokenBucket(greedy = false),
        algorithm = Algorithm.SLIDING_WINDOW_COUNTER)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "InitialOfWindow")
  static class InitialOfWindow {
    @RateRule(tokenBucket = @TokenBucket(initial = 0), algorithm = Algorithm.FIXED_WINDOW)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "BucketTwice")
  static class BucketTwice {
    @RateRule(tokenBucket = @TokenBucket(refill = 5), algorithm = Algorithm.TOKEN_BUCKET)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "BucketOfWindows")
  static class BucketOfWindows {
    @RateRule(tokenBucket = @TokenBucket(refill = 5), fixedWindow = @FixedWindow(zone = "UTC"))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "CounterTooLarge")
  static class CounterTooLarge {
    @RateRule(count = 1_000_000_001, algorithm = Algorithm.SLIDING_WINDOW_COUNTER)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "RefillZero")
  static class RefillZero {
    @RateRule(tokenBucket = @TokenBucket(refill = 0))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "RefillNegative")
  static class RefillNegative {
    @RateRule(tokenBucket = @TokenBucket(refill = -5))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "InitialAboveCount")
  static class InitialAboveCount {
    @RateRule(count = 10, tokenBucket = @TokenBucket(initial = 11))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "InitialNegative")
  static class InitialNegative {
    @RateRule(count = 10, tokenBucket = @TokenBucket(initial = -2))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "RefillTooSlow")
  static class RefillTooSlow {
    @RateRule(
        count = 1_000,
        tokenBucket = @TokenBucket(refill = 1),
        time = 1,
        timeUnit = TimeUnit.DAYS)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "RefillInexact")
  static class RefillInexact {
    @RateRule(count = 1_000_000_000, tokenBucket = @TokenBucket(refill = 999_999_937), time = 10)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "BucketAsGuard")
  static class BucketAsGuard {
    @RateLimiter(
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(algorithm = Algorithm.TOKEN_BUCKET))
    void call() {}
  }
}
