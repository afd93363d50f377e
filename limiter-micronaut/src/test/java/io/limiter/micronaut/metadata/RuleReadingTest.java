// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.CalendarPeriod;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.FixedWindowRule.Alignment;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Custom;
import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.LeakyBucket;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.TokenBucket;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/**
 * From the members of {@code @RateRule} to a rule of each algorithm, and to where windows begin.
 */
class RuleReadingTest {

  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final ZoneId BERLIN = ZoneId.of("Europe/Berlin");

  @AutoClose private final Plans plans = Plans.of("RuleReadingTest");

  @Test
  void aRuleIsAnExactLogByDefault() {
    assertThat(rules("logs"))
        .containsExactly(SlidingWindowLogRule.of(10, MINUTE), SlidingWindowLogRule.of(9, MINUTE));
  }

  @Test
  void aCounterHasAnyCount() {
    assertThat(rules("counters"))
        .containsExactly(
            SlidingWindowCounterRule.of(10, MINUTE),
            SlidingWindowCounterRule.of(999_999_999_999_999L, MINUTE));
  }

  @Test
  void aBucketIsFullAndRefilledToItsCountByDefault() {
    Duration second = Duration.ofSeconds(1);

    assertThat(rules("buckets"))
        .containsExactly(
            TokenBucketRule.of(20, 20, MINUTE),
            TokenBucketRule.of(20, 5, second),
            TokenBucketRule.of(30, 5, second).byInterval(),
            TokenBucketRule.of(40, 5, second).startingWith(0),
            TokenBucketRule.of(50, 5, second).startingWith(50));
    assertThat(rules("buckets").get(1).name()).isEqualTo("20-at-5-per-1s");
  }

  /** 7 in 61 days cannot come back one by one: no part of a token is small enough. */
  @Test
  void aBucketThatIsRefilledAtOnceNeedsNoPartsOfTokens() {
    assertThat(rules("parts").get(0)).isInstanceOf(TokenBucketRule.class);
  }

  @Test
  void windowsBeginWithACallUnlessTheyAreAligned() {
    Duration day = Duration.ofDays(1);
    LocalDateTime monday = LocalDateTime.of(2024, 1, 1, 0, 0);

    assertThat(rules("windows"))
        .containsExactly(
            FixedWindowRule.of(1, day),
            FixedWindowRule.aligned(2, day, ZoneId.of("UTC")),
            FixedWindowRule.aligned(3, day, BERLIN),
            FixedWindowRule.of(4, Duration.ofDays(7))
                .alignedTo(Alignment.to(ZoneId.of("UTC")).from(monday)),
            FixedWindowRule.of(5, Duration.ofMinutes(7))
                .alignedTo(Alignment.to(BERLIN).from(monday)),
            FixedWindowRule.of(6, day));
  }

  @Test
  void windowsMayBePeriodsOfTheCalendar() {
    ZoneId utc = ZoneId.of("UTC");
    assertThat(rules("periods"))
        .containsExactly(
            FixedWindowRule.aligned(1, CalendarPeriod.MONTH, utc),
            FixedWindowRule.aligned(2, CalendarPeriod.YEAR, BERLIN),
            FixedWindowRule.aligned(3, CalendarPeriod.WEEK, utc)
                .alignedTo(
                    Alignment.to(utc)
                        .each(CalendarPeriod.WEEK)
                        .from(LocalDateTime.of(2023, 12, 31, 0, 0))))
        .extracting(Rule::name)
        .containsExactly("1-per-month", "2-per-year", "3-per-week");
  }

  @Test
  void alignedWindowsBeginByTheClockThatIsConfigured() {
    try (Plans berlin =
        new Plans(
            ApplicationContext.run(
                Map.of("spec.name", "RuleReadingTest", "limiter.zone", "Europe/Berlin")))) {
      assertThat(rules(berlin, "windows"))
          .filteredOn(rule -> rule.count() == 2)
          .containsExactly(FixedWindowRule.aligned(2, Duration.ofDays(1), BERLIN));
    }
  }

  @Test
  void aZoneMayBeASettingOfTheApplication() {
    try (Plans configured =
        new Plans(
            ApplicationContext.run(
                Map.of("spec.name", "RuleReadingTest", "test.zone", "Asia/Tokyo")))) {
      assertThat(rules(configured, "placeholder"))
          .containsExactly(FixedWindowRule.aligned(10, MINUTE, ZoneId.of("Asia/Tokyo")));
    }
  }

  @Test
  void anAlgorithmOfOnesOwnIsABeanWithParameters() {
    Square square = plans.context().getBean(Square.class);

    assertThat(rules("own"))
        .containsExactly(
            CustomRule.of(square, 10, MINUTE),
            CustomRule.of(square, 10, MINUTE, 0.5, 2.0).withName("squared"));
  }

  @Test
  void aNameHoldsForAnyAlgorithm() {
    assertThat(rules("named")).extracting(Rule::name).containsExactly("a", "b", "c", "d");
  }

  @Test
  void equalNumbersOfOtherAlgorithmsGetNamesOfTheirOwn() {
    assertThat(plans.logs(Annotated.class, "equalNumbers"))
        .containsExactly(
            "limitType = IP: 10-per-60s, 10-per-60s-2, 10-per-60s-3, 10-at-10-per-60s, 10-at-10-per-60s-2");
  }

  /** In annotations in another place, and as rules for calls without a subject. */
  @Test
  void everyRuleHasAnAlgorithm() {
    assertThat(plans.of(Annotated.class, "strangers").charges())
        .singleElement()
        .satisfies(
            planned ->
                assertThat(planned.anonymousRules().rules())
                    .containsExactly(TokenBucketRule.of(2, 1, Duration.ofSeconds(1))));
  }

  @Test
  void omittedMembersHaveTheDefaultsOfTheAnnotation() throws ReflectiveOperationException {
    assertThat(declared("algorithm")).isEqualTo(Algorithm.SLIDING_WINDOW_LOG);
    for (String group : List.of("fixedWindow", "tokenBucket", "leakyBucket", "custom")) {
      assertThat((Object[]) declared(group)).as(group).isEmpty();
    }
    assertThat(declared(FixedWindow.class, "aligned")).isEqualTo(false);
    assertThat(declared(FixedWindow.class, "zone")).isEqualTo("");
    assertThat(declared(FixedWindow.class, "anchor")).isEqualTo("");
    assertThat((Object[]) declared(FixedWindow.class, "calendar")).isEmpty();
    assertThat(declared(TokenBucket.class, "refill")).isEqualTo(0L);
    assertThat(declared(TokenBucket.class, "greedy")).isEqualTo(true);
    assertThat(declared(TokenBucket.class, "initial")).isEqualTo(-1L);
    assertThat(declared(LeakyBucket.class, "maxWait")).isEqualTo(0L);
    assertThat(declared(LeakyBucket.class, "fair")).isEqualTo(true);
    assertThat((double[]) declared(Custom.class, "parameters")).isEmpty();
  }

  private static Object declared(String member) throws ReflectiveOperationException {
    return declared(RateRule.class, member);
  }

  private static Object declared(Class<?> annotation, String member)
      throws ReflectiveOperationException {
    return annotation.getMethod(member).getDefaultValue();
  }

  private List<Rule> rules(String method) {
    return rules(plans, method);
  }

  private static List<Rule> rules(Plans plans, String method) {
    return plans.of(Annotated.class, method).policy().rules();
  }

  @Singleton
  @Requires(property = "spec.name", value = "RuleReadingTest")
  static class Annotated {

    @RateRule
    @RateRule(count = 9, algorithm = Algorithm.SLIDING_WINDOW_LOG)
    void logs() {}

    @RateRule(algorithm = Algorithm.SLIDING_WINDOW_COUNTER)
    @RateRule(count = 999_999_999_999_999L, algorithm = Algorithm.SLIDING_WINDOW_COUNTER)
    void counters() {}

    @RateRule(count = 20, algorithm = Algorithm.TOKEN_BUCKET)
    @RateRule(count = 20, time = 1, tokenBucket = @TokenBucket(refill = 5))
    @RateRule(count = 30, time = 1, tokenBucket = @TokenBucket(refill = 5, greedy = false))
    @RateRule(count = 40, time = 1, tokenBucket = @TokenBucket(refill = 5, initial = 0))
    @RateRule(
        count = 50,
        time = 1,
        tokenBucket = @TokenBucket(refill = 5, greedy = true, initial = -1))
    void buckets() {}

    @RateRule(
        count = 10_000,
        time = 61,
        timeUnit = TimeUnit.DAYS,
        tokenBucket = @TokenBucket(refill = 9_999, greedy = false))
    void parts() {}

    @RateRule(count = 1, time = 1, timeUnit = TimeUnit.DAYS, algorithm = Algorithm.FIXED_WINDOW)
    @RateRule(
        count = 2,
        time = 1,
        timeUnit = TimeUnit.DAYS,
        fixedWindow = @FixedWindow(aligned = true))
    @RateRule(
        count = 3,
        time = 1,
        timeUnit = TimeUnit.DAYS,
        fixedWindow = @FixedWindow(zone = "Europe/Berlin"))
    @RateRule(
        count = 4,
        time = 7,
        timeUnit = TimeUnit.DAYS,
        fixedWindow = @FixedWindow(anchor = "2024-01-01T00:00"))
    @RateRule(
        count = 5,
        time = 7,
        timeUnit = TimeUnit.MINUTES,
        fixedWindow =
            @FixedWindow(aligned = true, zone = "Europe/Berlin", anchor = "2024-01-01T00:00:00"))
    @RateRule(
        count = 6,
        time = 1,
        timeUnit = TimeUnit.DAYS,
        fixedWindow = @FixedWindow(aligned = false))
    void windows() {}

    @RateRule(count = 1, fixedWindow = @FixedWindow(calendar = CalendarPeriod.MONTH))
    @RateRule(
        count = 2,
        fixedWindow = @FixedWindow(calendar = CalendarPeriod.YEAR, zone = "Europe/Berlin"))
    @RateRule(
        count = 3,
        fixedWindow = @FixedWindow(calendar = CalendarPeriod.WEEK, anchor = "2023-12-31T00:00"))
    void periods() {}

    @RateRule(fixedWindow = @FixedWindow(zone = "${test.zone:UTC}"))
    void placeholder() {}

    @RateRule(custom = @Custom(Square.class))
    @RateRule(
        name = "squared",
        custom =
            @Custom(
                value = Square.class,
                parameters = {0.5, 2}))
    void own() {}

    @RateRule(name = "a", algorithm = Algorithm.SLIDING_WINDOW_COUNTER)
    @RateRule(name = "b", fixedWindow = @FixedWindow(aligned = true))
    @RateRule(name = "c", algorithm = Algorithm.TOKEN_BUCKET)
    @RateRule(name = "d", custom = @Custom(Square.class))
    void named() {}

    @RateRule
    @RateRule(algorithm = Algorithm.SLIDING_WINDOW_COUNTER)
    @RateRule(algorithm = Algorithm.FIXED_WINDOW)
    @RateRule(algorithm = Algorithm.TOKEN_BUCKET)
    @RateRule(tokenBucket = @TokenBucket(greedy = false))
    void equalNumbers() {}

    @RateLimiter(
        header = "X-Api-Key",
        rules = @RateRule,
        anonymousRules = @RateRule(count = 2, time = 1, tokenBucket = @TokenBucket(refill = 1)))
    void strangers() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "RuleReadingTest")
  static class Square implements CustomAlgorithm {

    @Override
    public String name() {
      return "square";
    }

    @Override
    public int stateSize() {
      return 1;
    }

    @Override
    public Evaluation read(double now, double cost, CustomRule rule, double[] state) {
      return new Evaluation(
          rule.count(), 0, 0, state == null ? new double[1] : Arrays.copyOf(state, 1));
    }

    @Override
    public String script() {
      return "return count, {0}";
    }
  }
}
