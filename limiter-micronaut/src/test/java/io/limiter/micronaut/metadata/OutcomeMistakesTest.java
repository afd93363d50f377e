// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.util.stream.Stream;
import org.junit.jupiter.params.provider.Arguments;

/** An invalid rule about the outcome of calls stops the start. */
class OutcomeMistakesTest extends MistakesContract {

  static Stream<Arguments> mistakes() {
    return Stream.of(
        arguments(
            DuplicatesThatFail.class,
            "@RateLimiter.preventDuplicateRule.counts = FAILURES",
            "remove it, and use releaseOn for the failures after which they may be repeated"),
        arguments(
            FailedOnForAll.class,
            "@RateLimiter.failedOn = [401]",
            "it has no effect without a rule with counts = FAILURES or SUCCESSES: add one, or remove it"),
        arguments(
            FailedOnInFlight.class,
            "@RateLimiter.failedOn = [401]",
            "it has no effect without a rule with counts = FAILURES or SUCCESSES"),
        arguments(
            FailedOnNothing.class,
            "@RateLimiter.failedOn = {}",
            "name statuses, or remove it: then any exception is a failure, and any status of 400 and above"),
        arguments(
            FailedOn399.class, "@RateLimiter.failedOn = 399", "give it error statuses, 400 to 599"),
        arguments(
            FailedOn600.class, "@RateLimiter.failedOn = 600", "give it error statuses, 400 to 599"),
        arguments(
            FailedOnTwice.class,
            "@RateLimiter.failedOn = {}: another @RateLimiter of this method has failedOn = [401]",
            "a call either fails or does not: give both the same"),
        arguments(
            OtherKindsForAnonymous.class,
            "@RateLimiter.anonymousRules = [2-per-60s]",
            "let both count the same kinds of calls"),
        arguments(
            OneKeyOtherCounts.class,
            "@RateLimiter.key = 'log-in' is shared with ",
            "which has other rules, bans otherwise, or counts others"));
  }

  @Singleton
  @Requires(property = "spec.name", value = "DuplicatesThatFail")
  static class DuplicatesThatFail {
    @RateLimiter(
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(counts = Counts.FAILURES))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "FailedOnForAll")
  static class FailedOnForAll {
    @RateLimiter(failedOn = 401, rules = @RateRule)
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "FailedOnInFlight")
  static class FailedOnInFlight {
    @RateLimiter(failedOn = 401, rules = @RateRule(algorithm = Algorithm.CONCURRENCY_LIMIT))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "FailedOnNothing")
  static class FailedOnNothing {
    @RateLimiter(
        failedOn = {},
        rules = @RateRule(counts = Counts.FAILURES))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "FailedOn399")
  static class FailedOn399 {
    @RateLimiter(
        failedOn = {401, 399},
        rules = @RateRule(counts = Counts.FAILURES))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "FailedOn600")
  static class FailedOn600 {
    @RateLimiter(failedOn = 600, rules = @RateRule(counts = Counts.FAILURES))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "FailedOnTwice")
  static class FailedOnTwice {
    @RateLimiter(failedOn = 401, rules = @RateRule(counts = Counts.FAILURES))
    @RateLimiter(rules = @RateRule(count = 5, counts = Counts.SUCCESSES))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "OtherKindsForAnonymous")
  static class OtherKindsForAnonymous {
    @RateLimiter(
        header = "X-Api-Key",
        rules = @RateRule(counts = Counts.FAILURES),
        anonymousRules = @RateRule(count = 2))
    void call() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "OneKeyOtherCounts")
  static class OneKeyOtherCounts {
    @RateLimiter(key = "log-in", rules = @RateRule(counts = Counts.FAILURES))
    void call() {}

    @RateLimiter(key = "log-in", rules = @RateRule(counts = Counts.SUCCESSES))
    void call(String user) {}
  }
}
