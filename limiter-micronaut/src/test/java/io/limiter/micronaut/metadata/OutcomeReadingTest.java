// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.groups.Tuple.tuple;

import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Counting;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Ban;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.ResultCost;
import io.limiter.micronaut.plan.CompletionPlan;
import io.limiter.micronaut.plan.PlannedCharge;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What annotations say of calls in flight, of outcomes, and of costs in the end. */
class OutcomeReadingTest {

  @AutoClose private final Plans plans = Plans.of("OutcomeReadingTest");

  @Test
  void aPermitLastsHalfAMinuteByDefault() throws ReflectiveOperationException {
    assertThat(concurrency("usual"))
        .isEqualTo(new ConcurrencyLimitRule("3-in-flight", 3, seconds(30)));
    assertThat(concurrency("unit")).as("a unit alone").isEqualTo(concurrency("usual"));
    assertThat(concurrency("written"))
        .isEqualTo(new ConcurrencyLimitRule("places", 3, seconds(120)));
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

  @ParameterizedTest
  @CsvSource({
    "usualFailures, 399, false, false",
    "usualFailures, 400, false, true",
    "usualFailures, 500, false, true",
    "usualFailures, 200, true, true",
    "denials, 400, false, false",
    "denials, 401, false, true",
    "denials, 403, false, true",
    "denials, 500, true, false"
  })
  void failuresAreAsTheAnnotationDefines(String method, int status, boolean threw, boolean failed) {
    CompletionPlan outcomes = plans.of(Calls.class, method).outcomes();

    assertThat(outcomes.decide()).isTrue();
    assertThat(outcomes.completion(status, threw, Map.of()).counts(Counting.FAILURES))
        .isEqualTo(failed);
    assertThat(outcomes.completion(status, threw, Map.of()).counts(Counting.SUCCESSES))
        .isEqualTo(!failed);
  }

  @Test
  void completionsWithoutEffectAreNotObserved() {
    assertThat(plans.of(Calls.class, "plain").outcomes()).isSameAs(CompletionPlan.NONE);
    assertThat(plans.of(Calls.class, "usual").outcomes().decide()).isTrue();
    assertThat(plans.of(Calls.class, "rows").outcomes().decide()).isTrue();
  }

  @Test
  void onlyTheRulesOfTheAnnotationHaveItsResultCost() {
    assertThat(charges("rows"))
        .extracting(
            planned -> Plans.names(planned.rules()), planned -> planned.actualCost().isPresent())
        .containsExactly(tuple("100-per-60s", true), tuple("10-per-60s", false));
    assertThat(plans.of(Calls.class, "rows").outcomes().actual(List.of(1, 2, 3)))
        .containsOnlyKeys(charges("rows").get(0).rules())
        .containsValue(3);
  }

  private List<PlannedCharge> charges(String method) {
    return plans.of(Calls.class, method).charges();
  }

  private Object concurrency(String method) {
    return charges(method).get(0).rules().rules().get(0);
  }

  private static Duration seconds(int seconds) {
    return Duration.ofSeconds(seconds);
  }

  @Singleton
  @Requires(property = "spec.name", value = "OutcomeReadingTest")
  static class Calls {

    @RateRule
    void plain() {}

    @RateRule(count = 3, algorithm = Algorithm.CONCURRENCY_LIMIT)
    void usual() {}

    @RateRule(count = 3, timeUnit = TimeUnit.HOURS, algorithm = Algorithm.CONCURRENCY_LIMIT)
    void unit() {}

    @RateRule(
        count = 3,
        time = 2,
        timeUnit = TimeUnit.MINUTES,
        name = "places",
        algorithm = Algorithm.CONCURRENCY_LIMIT)
    void written() {}

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

    @RateRule(counts = Counts.FAILURES)
    void usualFailures() {}

    @RateLimiter(
        failedOn = {401, 403},
        rules = @RateRule(counts = Counts.FAILURES))
    void denials() {}

    @RateLimiter(cost = "5", resultCost = Rows.class, rules = @RateRule(count = 100))
    @RateLimiter(key = "calls", rules = @RateRule)
    List<Integer> rows() {
      return List.of();
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = "OutcomeReadingTest")
  static class Rows implements ResultCost {
    @Override
    public int of(Object result) {
      return ((List<?>) result).size();
    }
  }
}
