// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;

import io.limiter.core.rule.CalendarPeriod;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Ban;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.Custom;
import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.LeakyBucket;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.TokenBucket;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Prototype;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** An invalid rule stops the start: which method, member, value, and what to do. */
class RuleMistakesTest extends MistakesContract {

  private static final String TIME_REMEDY = "set it to 1 ms to 366 days";
  private static final String PERMIT_TIME =
      "it is the time after which a concurrency permit expires. A permit is renewed each third of it, so it must be longer than a pause of the service; it is also the time for which a permit stays taken if the service dies: set it to 1 s to 1 h";

  @Mistaken
  static class Rules {

    @Mistake("@RateRule.count = 0: set it to 1 or more")
    @RateRule(count = 0)
    void countZero() {}

    @Mistake("@RateLimiter.rules.count = 0: set it to 1 or more")
    @RateLimiter(rules = @RateRule(count = 0))
    void countNested() {}

    @Mistake({
      "@RateRule.count = 10001",
      "counts are limited to 10000: lower it, or raise limiter.max-count, or use algorithm = SLIDING_WINDOW_COUNTER or TOKEN_BUCKET"
    })
    @RateRule(count = 10_001)
    void countTooLarge() {}

    @Mistake("@RateRule.time = 0 SECONDS: set it to 1 or more")
    @RateRule(time = 0)
    void timeZero() {}

    @Mistake({"@RateRule.time = 9223372036854775807 DAYS", TIME_REMEDY})
    @RateRule(time = Long.MAX_VALUE, timeUnit = TimeUnit.DAYS)
    void timeOverflows() {}

    @Mistake({"@RateRule.time = 999999 NANOSECONDS", TIME_REMEDY})
    @RateRule(time = 999_999, timeUnit = TimeUnit.NANOSECONDS)
    void timeBelowOneMilli() {}

    @Mistake({"@RateRule.time = 367 DAYS", TIME_REMEDY})
    @RateRule(time = 367, timeUnit = TimeUnit.DAYS)
    void timeAboveOneYear() {}

    @Mistake("@RateRule.time = 1000001 NANOSECONDS: use whole microseconds")
    @RateRule(count = 1, time = 1_000_001, timeUnit = TimeUnit.NANOSECONDS)
    void timeBetweenMicros() {}

    @Mistake(
        "@RateLimiter.rules = {}: nothing is limited: add a rule to it, add a @RateRule in the same place, or set preventDuplicate")
    @RateLimiter
    void noRules() {}

    @Mistake(
        "@RateRule.name = fair-use: another rule of this method has this name: use another name")
    @RateRule(count = 1, name = "fair-use")
    @RateRule(count = 2, name = "fair-use")
    void oneNameTwice() {}
  }

  @Mistaken
  static class Buckets {

    @Mistake(
        "@RateRule.algorithm = TOKEN_BUCKET: tokenBucket already defines how the rule counts: remove one of them")
    @RateRule(tokenBucket = @TokenBucket(refill = 5), algorithm = Algorithm.TOKEN_BUCKET)
    void bucketTwice() {}

    @Mistake(
        "@RateRule.tokenBucket = @TokenBucket: fixedWindow already defines how the rule counts: remove one of them")
    @RateRule(tokenBucket = @TokenBucket(refill = 5), fixedWindow = @FixedWindow(zone = "UTC"))
    void bucketOfWindows() {}

    @Mistake("@RateRule.count = 1000000000000000: set it to 1 to 999999999999999")
    @RateRule(count = 1_000_000_000_000_000L, algorithm = Algorithm.SLIDING_WINDOW_COUNTER)
    void counterTooLarge() {}

    @Mistake(
        "@RateRule.tokenBucket.refill = 0: set it to 1 to 10, which is all that the bucket holds")
    @RateRule(tokenBucket = @TokenBucket(refill = 0))
    void refillZero() {}

    @Mistake(
        "@RateRule.tokenBucket.initial = 11: set it to 0 to 10, which is its count, or leave it out to start with a full bucket")
    @RateRule(count = 10, tokenBucket = @TokenBucket(initial = 11))
    void initialAboveCount() {}

    @Mistake("@RateRule.tokenBucket.initial = -2: set it to 0 to 10")
    @RateRule(count = 10, tokenBucket = @TokenBucket(initial = -2))
    void initialNegative() {}

    @Mistake(
        "@RateRule.tokenBucket.refill = 1: The rule '1000-at-1-per-86400s' fills its bucket in PT24000H: use 1 ms to 366 days")
    @RateRule(
        count = 1_000,
        tokenBucket = @TokenBucket(refill = 1),
        time = 1,
        timeUnit = TimeUnit.DAYS)
    void refillTooSlow() {}

    @Mistake({
      "@RateRule.tokenBucket.refill = 999999937: The rule ",
      "which cannot be counted exactly up to 1000000000: its largest count is 900719925; use rounder numbers, or a shorter interval"
    })
    @RateRule(count = 1_000_000_000, tokenBucket = @TokenBucket(refill = 999_999_937), time = 10)
    void refillInexact() {}

    @Mistake({
      "@RateRule.count = 999999999999999: The rule ",
      "which cannot be counted exactly up to 999999999999999: its largest count is 450359962; use rounder numbers, or a shorter interval"
    })
    @RateRule(count = 999_999_999_999_999L, algorithm = Algorithm.TOKEN_BUCKET)
    void countInexact() {}

    @Mistake(
        "@RateLimiter.preventDuplicateRule.algorithm = TOKEN_BUCKET: a duplicate guard stores each submission, which only the exact log does: remove it")
    @RateLimiter(
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(algorithm = Algorithm.TOKEN_BUCKET))
    void bucketAsGuard() {}
  }

  @Mistaken
  static class Windows {

    @Mistake(
        "@RateRule.algorithm = TOKEN_BUCKET: fixedWindow already defines how the rule counts: remove one of them")
    @RateRule(fixedWindow = @FixedWindow(zone = "UTC"), algorithm = Algorithm.TOKEN_BUCKET)
    void zoneOfBucket() {}

    @Mistake(
        "@RateRule.time = 7 MINUTES: The rule '10-per-420s' has an aligned window of PT7M, which does not divide a day: use one that does, or set an anchor")
    @RateRule(time = 7, timeUnit = TimeUnit.MINUTES, fixedWindow = @FixedWindow(aligned = true))
    void sevenMinutes() {}

    @Mistake(
        "@RateRule.time = 8 DAYS: The rule '10-per-691200s' has an aligned window of PT192H: use 7 days at most, or a period of the calendar, such as a month")
    @RateRule(
        time = 8,
        timeUnit = TimeUnit.DAYS,
        fixedWindow = @FixedWindow(anchor = "2024-01-01T00:00"))
    void eightDays() {}

    @Mistake(
        "@RateRule.fixedWindow.zone = Europe/Nowhere: there is no such time zone: write one such as UTC or Europe/Berlin")
    @RateRule(fixedWindow = @FixedWindow(zone = "Europe/Nowhere"))
    void unknownZone() {}

    @Mistake({
      "@RateRule.fixedWindow.anchor = 2024-01-01:",
      "it is not a local time in whole microseconds: write one such as 2024-01-01T00:00"
    })
    @RateRule(fixedWindow = @FixedWindow(anchor = "2024-01-01"))
    void anchorIsADay() {}

    @Mistake({"@RateRule.fixedWindow.anchor = 2024-01-01T00:00:00.000000001", "whole microseconds"})
    @RateRule(fixedWindow = @FixedWindow(anchor = "2024-01-01T00:00:00.000000001"))
    void anchorBetweenMicros() {}

    @Mistake(
        "@RateRule.fixedWindow.zone = UTC: only aligned windows have it: write aligned = true, or remove it")
    @RateRule(fixedWindow = @FixedWindow(aligned = false, zone = "UTC"))
    void zoneUnaligned() {}

    @Mistake("@RateRule.time = 30 DAYS: the window is a month: remove it")
    @RateRule(
        time = 30,
        timeUnit = TimeUnit.DAYS,
        fixedWindow = @FixedWindow(calendar = CalendarPeriod.MONTH))
    void monthOfThirtyDays() {}

    @Mistake(
        "@RateRule.fixedWindow.calendar = WEEK, MONTH: only one is possible: remove the others")
    @RateRule(fixedWindow = @FixedWindow(calendar = {CalendarPeriod.WEEK, CalendarPeriod.MONTH}))
    void weekAndMonth() {}

    @Mistake(
        "@RateRule.fixedWindow.calendar = DAY: only aligned windows have it: write aligned = true, or remove it")
    @RateRule(fixedWindow = @FixedWindow(aligned = false, calendar = CalendarPeriod.DAY))
    void calendarUnaligned() {}

    @Mistake({
      "@RateRule.fixedWindow.anchor = billing-days:",
      "no bean of type io.limiter.micronaut.annotation.PeriodAnchor has this name"
    })
    @RateRule(fixedWindow = @FixedWindow(calendar = CalendarPeriod.MONTH, anchor = "billing-days"))
    void anchorWithoutBean() {}

    @Mistake({
      "@RateRule.fixedWindow.anchor = #{day}:",
      "set calendar to one of these, or write a local time such as 2024-01-01T00:00"
    })
    @RateRule(fixedWindow = @FixedWindow(calendar = CalendarPeriod.DAY, anchor = "#{day}"))
    void anchorOfDays(int day) {}

    @Mistake({
      "@RateRule.fixedWindow.anchor = #{day}:",
      "all calls together have no day of their own"
    })
    @RateLimiter(limitType = LimitType.GLOBAL)
    @RateRule(fixedWindow = @FixedWindow(calendar = CalendarPeriod.MONTH, anchor = "#{day}"))
    void anchorOfEverybody(int day) {}

    @Mistake({
      "@RateRule.fixedWindow.anchor = #{other}:",
      "another rule counts the same subject with anchor = #{day}: use one anchor for both"
    })
    @RateRule(fixedWindow = @FixedWindow(calendar = CalendarPeriod.MONTH, anchor = "#{day}"))
    @RateRule(fixedWindow = @FixedWindow(calendar = CalendarPeriod.YEAR, anchor = "#{other}"))
    void anchorsOfOneSubject(String day, String other) {}

    @Mistake("nothing is limited: add a rule to it")
    @RateLimiter(trial = @RateRule(count = 1))
    void onlyOnTrial() {}

    @Mistake({"@RateRule.fixedWindow.anchor = 2024", "only aligned windows have it"})
    @RateRule(fixedWindow = @FixedWindow(aligned = false, anchor = "2024-01-01T00:00"))
    void anchorUnaligned() {}
  }

  @Mistaken
  static class Queues {

    @Mistake(
        "@RateRule.leakyBucket.queue = 0: set it to 1 to 10000, the number of calls that may wait for their turn; if no call is to wait, write algorithm = TOKEN_BUCKET with count = 1")
    @RateRule(count = 2, time = 1, leakyBucket = @LeakyBucket(queue = 0))
    void noQueue() {}

    @Mistake({"@RateRule.leakyBucket.queue = 10001", "1 to 10000"})
    @RateRule(count = 2, time = 1, leakyBucket = @LeakyBucket(queue = 10_001))
    void queueTooLong() {}

    @Mistake(
        "@RateRule.leakyBucket.maxWait = 301 SECONDS: the client's connection stays open meanwhile: set it to at most 5 minutes")
    @RateRule(count = 2, time = 1, leakyBucket = @LeakyBucket(queue = 10, maxWait = 301))
    void waitTooLong() {}

    @Mistake("@RateRule.leakyBucket.maxWait = 0 SECONDS: set it to 1 or more")
    @RateRule(count = 2, time = 1, leakyBucket = @LeakyBucket(queue = 10, maxWait = 0))
    void waitZero() {}

    @Mistake(
        "@RateRule.algorithm = SLIDING_WINDOW_LOG: leakyBucket already defines how the rule counts: remove one of them")
    @RateRule(algorithm = Algorithm.SLIDING_WINDOW_LOG, leakyBucket = @LeakyBucket(queue = 5))
    void queueOfALog() {}

    @Mistake(
        "@RateRule.leakyBucket = @LeakyBucket: tokenBucket already defines how the rule counts: remove one of them")
    @RateRule(leakyBucket = @LeakyBucket(queue = 5), tokenBucket = @TokenBucket(refill = 5))
    void queueOfTokens() {}

    @Mistake(
        "@RateRule.leakyBucket = @LeakyBucket, @LeakyBucket: only one is possible: remove the others")
    @RateRule(leakyBucket = {@LeakyBucket(queue = 5), @LeakyBucket(queue = 6)})
    void severalQueues() {}

    @Mistake(
        "@RateRule.counts = FAILURES: a leaky bucket assigns each call its turn on arrival, and a turn that has passed cannot be refunded: remove it, and let another rule count by outcome")
    @RateRule(count = 2, time = 1, leakyBucket = @LeakyBucket(queue = 10), counts = Counts.FAILURES)
    void waitingFailures() {}

    @Mistake(
        "@RateRule.leakyBucket = [2-per-1s-queue-10, 5-per-1s-queue-10]: a call can wait under one rule only")
    @RateRule(count = 2, time = 1, leakyBucket = @LeakyBucket(queue = 10))
    @RateRule(
        count = 5,
        time = 1,
        leakyBucket = @LeakyBucket(queue = 10),
        limitType = LimitType.GLOBAL)
    void twoQueues() {}

    @Mistake(
        "@RateLimiter.cost = 12: the rule '2-per-1s-queue-10' admits 11 at once, so no call could ever be admitted")
    @RateLimiter(
        cost = "12",
        rules = @RateRule(count = 2, time = 1, leakyBucket = @LeakyBucket(queue = 10)))
    void costAboveQueue() {}
  }

  @Mistaken
  static class Permits {

    @Mistake({"@RateRule.time = 999 MILLISECONDS", PERMIT_TIME})
    @RateRule(time = 999, timeUnit = TimeUnit.MILLISECONDS, algorithm = Algorithm.CONCURRENCY_LIMIT)
    void permitTimeTooShort() {}

    @Mistake({"@RateRule.time = 61 MINUTES", PERMIT_TIME})
    @RateRule(time = 61, timeUnit = TimeUnit.MINUTES, algorithm = Algorithm.CONCURRENCY_LIMIT)
    void permitTimeTooLong() {}

    @Mistake(
        "@RateRule.count = 10001: each call in flight is stored separately: set it to 1 to 10000")
    @RateRule(count = 10_001, algorithm = Algorithm.CONCURRENCY_LIMIT)
    void tooManyPlaces() {}

    @Mistake(
        "@RateRule.counts = FAILURES: algorithm = CONCURRENCY_LIMIT counts calls while they run, when their completion is not yet known: remove it, or write another algorithm")
    @RateRule(counts = Counts.FAILURES, algorithm = Algorithm.CONCURRENCY_LIMIT)
    void failuresInFlight() {}

    @Mistake(
        "@RateLimiter.ban = 5 within PT1M for PT1M: its rules limit calls in flight, and the time until a permit is free is unknown: add other rules, or remove it")
    @RateLimiter(rules = @RateRule(algorithm = Algorithm.CONCURRENCY_LIMIT), ban = @Ban)
    void banInFlight() {}

    @Mistake(
        "@RateLimiter.cost = 5: a concurrency limit takes one permit for each call, whatever its cost: add other rules, or remove it")
    @RateLimiter(cost = "5", rules = @RateRule(algorithm = Algorithm.CONCURRENCY_LIMIT))
    void costInFlight() {}
  }

  @Mistaken
  static class Own {

    @Mistake({
      "@RateRule.custom.value = ",
      "$Missing",
      "there is no bean of this type: make it a @Singleton"
    })
    @RateRule(custom = @Custom(Missing.class))
    void noBean() {}

    @Mistake(
        "@RateRule.custom.value = io.limiter.core.rule.CustomAlgorithm: there are several beans of this type: name the one")
    @RateRule(custom = @Custom(CustomAlgorithm.class))
    void severalBeans() {}

    @Mistake({
      "@RateRule.custom.value = ",
      "$Unshared",
      "Redis is given the script of one bean of this type: make it a @Singleton"
    })
    @RateRule(custom = @Custom(Unshared.class))
    void beanForEach() {}

    @Mistake(
        "@RateRule.algorithm = TOKEN_BUCKET: custom already defines how the rule counts: remove one of them")
    @RateRule(custom = @Custom(Quiet.class), algorithm = Algorithm.TOKEN_BUCKET)
    void namedAlgorithmToo() {}

    @Mistake(
        "@RateRule.tokenBucket = @TokenBucket: custom already defines how the rule counts: remove one of them")
    @RateRule(custom = @Custom(Quiet.class), tokenBucket = @TokenBucket(refill = 5))
    void refillOfCustom() {}

    @Mistake("@RateLimiter.lease = 1s: the rule '10-per-60s' allows no lease")
    @RateLimiter(lease = "1s", rules = @RateRule(custom = @Custom(Quiet.class)))
    void leaseOfCustom() {}

    @Mistake("@RateRule.custom.parameters = [1.0, Infinity]: use at most 8 finite numbers")
    @RateRule(
        custom =
            @Custom(
                value = Quiet.class,
                parameters = {1, Double.POSITIVE_INFINITY}))
    void parameterInfinite() {}

    @Mistake(
        "@RateRule.custom.parameters = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]: use at most 8 finite numbers")
    @RateRule(
        custom =
            @Custom(
                value = Quiet.class,
                parameters = {1, 2, 3, 4, 5, 6, 7, 8, 9}))
    void parametersTooMany() {}

    @Mistake("@RateRule.count = 1000000001: set it to 1 to 1000000000")
    @RateRule(custom = @Custom(Quiet.class), count = 1_000_000_001)
    void customTooLarge() {}

    @Mistake({
      "@RateRule.custom.value = ",
      "$Loud: The algorithm name 'My Algorithm!' is invalid",
      "use 1 to 32 lower-case letters, digits and hyphens"
    })
    @RateRule(custom = @Custom(Loud.class))
    void badName() {}

    @Mistake({
      "@RateLimiter.preventDuplicateRule.custom = @Custom",
      "which only the exact log does: remove it"
    })
    @RateLimiter(
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(custom = @Custom(Quiet.class)))
    void customAsGuard() {}
  }

  @Test
  void aCountAboveTheMaximumIsAllowedOnceTheMaximumIsRaised() throws Exception {
    try (ApplicationContext context = ApplicationContext.run(Map.of("limiter.max-count", 10_001))) {
      assertThat(plan(context, Rules.class.getDeclaredMethod("countTooLarge"))).isPresent();
    }
  }

  @Test
  void aMistakeStopsTheStart() {
    assertThat(Starts.mistake(Map.of("spec.name", MISTAKEN)))
        .hasMessageMatching("(?s)io\\.limiter\\.micronaut\\.metadata\\.\\w+MistakesTest\\$.*");
  }

  @Test
  void mistakesAreIgnoredWhileTheLimiterIsOff() {
    assertThatNoException()
        .isThrownBy(
            () ->
                ApplicationContext.run(Map.of("spec.name", MISTAKEN, "limiter.enabled", false))
                    .close());
  }

  static class Missing extends AdmitsAll {}

  @Singleton
  @Requires(property = "spec.name", value = "RuleMistakesTest")
  static class Quiet extends AdmitsAll {}

  @Prototype
  @Requires(property = "spec.name", value = "RuleMistakesTest")
  static class Unshared extends AdmitsAll {}

  @Singleton
  @Requires(property = "spec.name", value = "RuleMistakesTest")
  static class Loud extends AdmitsAll {
    @Override
    public String name() {
      return "My Algorithm!";
    }
  }

  abstract static class AdmitsAll implements CustomAlgorithm {

    @Override
    public String name() {
      return "all";
    }

    @Override
    public int stateSize() {
      return 1;
    }

    @Override
    public Evaluation read(double now, double cost, CustomRule rule, double[] state) {
      return new Evaluation(rule.count(), 0, 0, new double[1]);
    }

    @Override
    public String script() {
      return "return count, {0}";
    }
  }
}
