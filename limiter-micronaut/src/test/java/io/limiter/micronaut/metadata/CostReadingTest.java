// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.plan.PlannedCharge;
import io.limiter.micronaut.plan.PlannedCharge.Cost;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a call takes from the rules of an annotation. */
class CostReadingTest {

  private final Plans plans = Plans.of("CostReadingTest");

  @AfterEach
  void close() {
    plans.close();
  }

  @Test
  void aCostIsTakenFromEveryRuleOfItsAnnotation() {
    assertThat(charges("costly"))
        .extracting(PlannedCharge::cost)
        .containsOnly(new Cost(5))
        .hasSize(2);
    assertThat(plans.of(Annotated.class, "costly").decidedByRequest()).isTrue();
  }

  @Test
  void aCostMayBeASettingOfTheApplication() {
    assertThat(charges("configured")).extracting(PlannedCharge::cost).containsExactly(new Cost(7));
  }

  @Test
  void theCostOfArgumentsIsKnownOnlyToACall() {
    assertThat(charges("byArguments"))
        .extracting(planned -> planned.cost().toString())
        .containsExactly("#{n}");
    assertThat(plans.of(Annotated.class, "byArguments").decidedByRequest()).isFalse();
  }

  @Test
  void methodsThatShareALimitMayCostOtherwise() {
    assertThat(charges("cheap")).extracting(PlannedCharge::cost).containsExactly(new Cost(1));
    assertThat(charges("dear")).extracting(PlannedCharge::cost).containsExactly(new Cost(10));
  }

  private List<PlannedCharge> charges(String method) {
    return plans.of(Annotated.class, method).charges();
  }

  @Singleton
  @Requires(property = "spec.name", value = "CostReadingTest")
  static class Annotated {

    @RateLimiter(
        cost = "5",
        rules = {@RateRule, @RateRule(limitType = LimitType.GLOBAL)})
    @RateRule(count = 100)
    void costly() {}

    @RateLimiter(cost = "${test.cost:7}", rules = @RateRule)
    void configured() {}

    @RateLimiter(cost = "#{n}", rules = @RateRule)
    void byArguments(int n) {}

    @RateLimiter(key = "shared", rules = @RateRule)
    void cheap() {}

    @RateLimiter(key = "shared", cost = "10", rules = @RateRule)
    void dear() {}
  }
}
