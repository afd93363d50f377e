// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.LeakyBucket;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.TokenBucket;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;

/** An invalid rule whose calls wait stops the start. */
class WaitingMistakesTest extends MistakesContract {

  static Stream<Arguments> mistakes() {
    return Stream.of(
        arguments(
            NoQueue.class,
            "@RateRule.leakyBucket.queue = 0",
            "give it 1 to 10000, the number of calls that may wait for their turn; if no call is to wait, write algorithm = TOKEN_BUCKET with count = 1"),
        arguments(QueueTooLong.class, "@RateRule.leakyBucket.queue = 10001", "1 to 10000"),
        arguments(
            WaitTooLong.class,
            "@RateRule.leakyBucket.maxWait = 301 SECONDS",
            "the client's connection stays open meanwhile: give it at most 5 minutes"),
        arguments(WaitZero.class, "@RateRule.leakyBucket.maxWait = 0", "give it 1 or more"),
        arguments(
            QueueOfALog.class,
            "@RateRule.algorithm = SLIDING_WINDOW_LOG",
            "leakyBucket already defines how the rule counts: remove one of them"),
        arguments(
            QueueOfTokens.class,
            "@RateRule.leakyBucket = @LeakyBucket",
            "tokenBucket already defines how the rule counts: remove one of them"),
        arguments(
            SeveralQueues.class,
            "@RateRule.leakyBucket = @LeakyBucket, @LeakyBucket",
            "one is possible: remove the others"),
        arguments(
            WaitingFailures.class,
            "@RateRule.counts = FAILURES",
            "a leaky bucket assigns each call its turn on arrival, and a turn that has passed cannot be refunded: remove it, and let another rule count by outcome"),
        arguments(
            TwoQueues.class,
            "@RateRule.leakyBucket = [2-per-1s-queue-10, 5-per-1s-queue-10]",
            "a call can wait under one rule only"),
        arguments(
            CostAboveQueue.class,
            "@RateLimiter.cost = 12",
            "the rule '2-per-1s-queue-10' admits 11 at once, so no call could ever be admitted"),
        arguments(
            WaitingDuplicates.class,
            "@RateLimiter.preventDuplicateRule.leakyBucket = @LeakyBucket",
            "a duplicate guard stores each submission, which only the exact log does: remove it"));
  }

  @Singleton
  @Requires(property = "spec.name", value = "NoQueue")
  static class NoQueue {
    @RateRule(count = 2, time = 1, leakyBucket = @LeakyBucket(queue = 0))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "QueueTooLong")
  static class QueueTooLong {
    @RateRule(count = 2, time = 1, leakyBucket = @LeakyBucket(queue = 10_001))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "WaitTooLong")
  static class WaitTooLong {
    @RateRule(count = 2, time = 1, leakyBucket = @LeakyBucket(queue = 10, maxWait = 301))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "WaitZero")
  static class WaitZero {
    @RateRule(count = 2, time = 1, leakyBucket = @LeakyBucket(queue = 10, maxWait = 0))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "QueueOfALog")
  static class QueueOfALog {
    @RateRule(algorithm = Algorithm.SLIDING_WINDOW_LOG, leakyBucket = @LeakyBucket(queue = 5))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "QueueOfTokens")
  static class QueueOfTokens {
    @RateRule(leakyBucket = @LeakyBucket(queue = 5), tokenBucket = @TokenBucket(refill = 5))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "SeveralQueues")
  static class SeveralQueues {
    @RateRule(leakyBucket = {@LeakyBucket(queue = 5), @LeakyBucket(queue = 6)})
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "WaitingFailures")
  static class WaitingFailures {
    @RateRule(count = 2, time = 1, leakyBucket = @LeakyBucket(queue = 10), counts = Counts.FAILURES)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "TwoQueues")
  static class TwoQueues {
    @RateRule(count = 2, time = 1, leakyBucket = @LeakyBucket(queue = 10))
    @RateRule(
        count = 5,
        time = 1,
        leakyBucket = @LeakyBucket(queue = 10),
        limitType = LimitType.GLOBAL)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "CostAboveQueue")
  static class CostAboveQueue {
    @RateLimiter(
        cost = "12",
        rules = @RateRule(count = 2, time = 1, leakyBucket = @LeakyBucket(queue = 10)))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "WaitingDuplicates")
  static class WaitingDuplicates {
    @RateLimiter(
        preventDuplicate = true,
        preventDuplicateRule =
            @RateRule(count = 2, time = 1, leakyBucket = @LeakyBucket(queue = 10)))
    void call() {}
  }
}
