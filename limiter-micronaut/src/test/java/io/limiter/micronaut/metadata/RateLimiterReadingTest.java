// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Ban;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.ResultCost;
import io.limiter.micronaut.plan.PlannedCharge;
import io.limiter.micronaut.plan.PlannedCharge.Cost;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The settings of an annotation for all its rules: what counts, their ban, and what a call costs.
 */
class RateLimiterReadingTest {

  private static final BanRule USUAL = BanRule.of(5, Duration.ofMinutes(1), Duration.ofMinutes(1));

  @AutoClose private final Plans plans = Plans.of("RateLimiterReadingTest");

  @Test
  void byDefaultThereIsNoBanAndACallCostsOne() throws ReflectiveOperationException {
    assertThat(charges("omitted"))
        .singleElement()
        .satisfies(
            planned -> {
              assertThat(planned.rules().ban()).isEmpty();
              assertThat(planned.cost()).isEqualTo(new Cost(1));
            });
    assertThat((Object[]) RateLimiter.class.getMethod("ban").getDefaultValue()).isEmpty();
    assertThat(RateLimiter.class.getMethod("cost").getDefaultValue()).isEqualTo("");
  }

  /**
   * A time that is not written is in seconds, whatever the unit. Equal bans of a subject are one.
   */
  @ParameterizedTest
  @CsvSource({
    "written, 3, PT2M, PT5M, 4, PT1H",
    "hours, 5, PT1M, PT1H, 1, PT1H",
    "growing, 5, PT1M, PT1M, 2, PT24H",
    "equal, 5, PT1M, PT1M, 1, PT1M"
  })
  void aBanIsAsItIsWritten(
      String method, int violations, Duration within, Duration time, int growth, Duration longest) {
    assertThat(ban(method)).isEqualTo(new BanRule(violations, within, time, growth, longest));
  }

  @Test
  void omittedMembersOfABanHaveTheDefaultsOfTheAnnotation() throws ReflectiveOperationException {
    assertThat(ban("bare")).isEqualTo(USUAL);
    assertThat(declared("violations")).isEqualTo(USUAL.violations());
    assertThat(declared("within")).isEqualTo(USUAL.within().toSeconds());
    assertThat(declared("time")).isEqualTo(USUAL.time().toSeconds());
    assertThat(declared("timeUnit")).isEqualTo(TimeUnit.SECONDS);
    assertThat(declared("growth")).isEqualTo(USUAL.growth());
  }

  @Test
  void eachSubjectIsBannedByItselfAndNeverEverybody() {
    assertThat(charges("subjects"))
        .extracting(
            planned -> planned.source().written(), planned -> planned.rules().ban().isPresent())
        .containsExactly(
            tuple("limitType = USER_ID", true),
            tuple("limitType = IP", true),
            tuple("limitType = GLOBAL", false));
  }

  @Test
  void callsWithoutASubjectAreBannedToo() {
    assertThat(charges("strangers"))
        .singleElement()
        .extracting(PlannedCharge::anonymousRules)
        .extracting(RuleStack::ban)
        .isEqualTo(Optional.of(USUAL));
  }

  @Test
  void aBanHoldsForAllRulesOfOneSubjectOnWhateverPlace() {
    assertThat(plans.of(OnClass.class, "call").charges())
        .singleElement()
        .satisfies(
            planned -> {
              assertThat(Plans.names(planned.rules())).isEqualTo("1-per-60s, 2-per-60s");
              assertThat(planned.rules().ban()).contains(USUAL);
            });
  }

  @Test
  void whereOtherThingsAreLimitedOtherBansHold() {
    assertThat(charges("keys"))
        .extracting(planned -> planned.rules().ban().orElseThrow().violations())
        .containsExactly(1, 2);
  }

  /** On an annotation of one's own, and on what a method implements. */
  @Test
  void termsHoldWhereverTheirAnnotationDoes() {
    assertThat(charges("composed"))
        .singleElement()
        .satisfies(
            planned -> {
              assertThat(planned.cost()).isEqualTo(new Cost(5));
              assertThat(planned.rules().ban()).contains(USUAL);
            });
    assertThat(plans.of(Inheriting.class, "call").charges())
        .singleElement()
        .satisfies(
            planned -> {
              assertThat(planned.cost().toString()).isEqualTo("#{n}");
              assertThat(planned.rules().ban()).contains(USUAL);
            });
  }

  @Test
  void aPermitLastsHalfAMinuteByDefault() throws ReflectiveOperationException {
    assertThat(concurrency("permits"))
        .isEqualTo(new ConcurrencyLimitRule("3-in-flight", 3, Duration.ofSeconds(30)));
    assertThat(concurrency("permitsByUnit")).as("a unit alone").isEqualTo(concurrency("permits"));
    assertThat(concurrency("writtenPermits"))
        .isEqualTo(new ConcurrencyLimitRule("places", 3, Duration.ofSeconds(120)));
    assertThat(RateRule.class.getMethod("counts").getDefaultValue()).isEqualTo(Counts.ALL);
  }

  @Test
  void rulesThatCountOtherCallsHaveStacksOfTheirOwnInTheOrderInWhichTheyAreWritten() {
    assertThat(charges("kinds"))
        .extracting(
            planned -> Plans.names(planned.rules()),
            planned -> planned.rules().counting(),
            planned -> planned.rules().permitDuration().isPresent(),
            planned -> planned.rules().ban().isPresent(),
            planned -> planned.cost().toString())
        .containsExactly(
            tuple("failures, more-failures", Counting.FAILURES, false, true, "2"),
            tuple("10-in-flight", Counting.ALL, true, false, "1"),
            tuple("10-per-60s", Counting.ALL, false, true, "2"),
            tuple("10-per-60s-2", Counting.SUCCESSES, false, true, "2"));
  }

  @Test
  void onlyTheRulesOfTheAnnotationHaveItsResultCost() {
    assertThat(charges("rows"))
        .extracting(
            planned -> Plans.names(planned.rules()), planned -> planned.actualCost().isPresent())
        .containsExactly(tuple("100-per-60s", true), tuple("10-per-60s", false));
    assertThat(plans.of(Annotated.class, "rows").outcomes().actual(List.of(1, 2, 3)))
        .containsOnlyKeys(charges("rows").get(0).rules())
        .containsValue(3);
  }

  private Object concurrency(String method) {
    return charges(method).get(0).rules().rules().get(0);
  }

  private BanRule ban(String method) {
    assertThat(charges(method)).hasSize(1);
    return charges(method).get(0).rules().ban().orElseThrow();
  }

  private List<PlannedCharge> charges(String method) {
    return plans.of(Annotated.class, method).charges();
  }

  private static Object declared(String member) throws ReflectiveOperationException {
    return Ban.class.getMethod(member).getDefaultValue();
  }

  @Singleton
  @Requires(property = "spec.name", value = "RateLimiterReadingTest")
  static class Annotated {

    @RateLimiter(rules = @RateRule)
    void omitted() {}

    @RateLimiter(
        rules = @RateRule,
        ban =
            @Ban(
                violations = 3,
                within = 2,
                time = 5,
                timeUnit = TimeUnit.MINUTES,
                growth = 4,
                longest = 60))
    void written() {}

    @RateLimiter(rules = @RateRule, ban = @Ban)
    void bare() {}

    @RateLimiter(rules = @RateRule, ban = @Ban(time = 1, timeUnit = TimeUnit.HOURS))
    void hours() {}

    @RateLimiter(rules = @RateRule, ban = @Ban(growth = 2))
    void growing() {}

    @RateLimiter(
        limitType = LimitType.USER_ID,
        rules = {
          @RateRule,
          @RateRule(limitType = LimitType.IP),
          @RateRule(limitType = LimitType.GLOBAL)
        },
        ban = @Ban)
    void subjects() {}

    @RateLimiter(
        header = "X-Api-Key",
        rules = @RateRule,
        anonymousRules = @RateRule(count = 2),
        ban = @Ban)
    void strangers() {}

    @RateLimiter(rules = @RateRule(count = 1), ban = @Ban)
    @RateLimiter(rules = @RateRule(count = 2), ban = @Ban(violations = 5))
    void equal() {}

    @RateLimiter(key = "one", rules = @RateRule, ban = @Ban(violations = 1))
    @RateLimiter(key = "other", rules = @RateRule, ban = @Ban(violations = 2))
    void keys() {}

    @Composed
    void composed() {}

    @RateRule(count = 3, algorithm = Algorithm.CONCURRENCY_LIMIT)
    void permits() {}

    @RateRule(count = 3, timeUnit = TimeUnit.HOURS, algorithm = Algorithm.CONCURRENCY_LIMIT)
    void permitsByUnit() {}

    @RateRule(
        count = 3,
        time = 2,
        timeUnit = TimeUnit.MINUTES,
        name = "places",
        algorithm = Algorithm.CONCURRENCY_LIMIT)
    void writtenPermits() {}

    @RateLimiter(
        cost = "2",
        ban = @Ban,
        rules = {
          @RateRule(name = "failures", counts = Counts.FAILURES),
          @RateRule(algorithm = Algorithm.CONCURRENCY_LIMIT),
          @RateRule,
          @RateRule(counts = Counts.SUCCESSES),
          @RateRule(count = 100, name = "more-failures", counts = Counts.FAILURES)
        })
    void kinds() {}

    @RateLimiter(cost = "5", resultCost = Rows.class, rules = @RateRule(count = 100))
    @RateLimiter(key = "calls", rules = @RateRule)
    List<Integer> rows() {
      return List.of();
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = "RateLimiterReadingTest")
  @RateRule(count = 2)
  static class OnClass {
    @RateLimiter(rules = @RateRule(count = 1), ban = @Ban)
    void call() {}
  }

  @Retention(RetentionPolicy.RUNTIME)
  @RateLimiter(cost = "5", rules = @RateRule, ban = @Ban)
  @interface Composed {}

  interface Contract {
    @RateLimiter(cost = "#{n}", rules = @RateRule, ban = @Ban)
    void call(int n);
  }

  @Singleton
  @Requires(property = "spec.name", value = "RateLimiterReadingTest")
  static class Inheriting implements Contract {
    @Override
    public void call(int n) {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "RateLimiterReadingTest")
  static class Rows implements ResultCost {
    @Override
    public long of(Object result) {
      return ((List<?>) result).size();
    }
  }
}
