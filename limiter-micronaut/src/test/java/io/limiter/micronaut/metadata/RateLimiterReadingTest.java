// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.limiter.core.Policy;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.annotation.Ban;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
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

/** The settings of an annotation for all its rules: their ban, and the cost of a call. */
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
  void thePolicyOfAMethodHasTheRulesOfAllItsSubjects() {
    Policy policy = plans.of(Annotated.class, "subjects").policy();
    assertThat(policy.stacks())
        .isEqualTo(charges("subjects").stream().map(PlannedCharge::rules).toList())
        .hasSize(3);
    assertThat(policy.rules()).hasSize(3);
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
}
