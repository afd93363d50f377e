// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.micronaut.testing.Plans;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What the plan of a tier has from the plan of all callers. */
class TierPlansTest {

  private static final LimitPlan PLAN = Plans.of(policy(1, Map.of("gold", policy(2, Map.of()))));

  @Test
  void theTierHasItsOwnRules() {
    assertThat(PLAN.inTier("gold").policy().rules())
        .singleElement()
        .extracting("count")
        .isEqualTo(2L);
    assertThat(PLAN.inTier("silver")).isSameAs(PLAN);
  }

  @Test
  void whatIsKnownBeforeTheTierHoldsInIt() {
    assertThat(PLAN.countsUsers()).isTrue();
    assertThat(PLAN.decidedByRequest()).isTrue();
    assertThat(PLAN.inTier("gold").countsUsers()).isTrue();
    assertThat(PLAN.inTier("gold").decidedByRequest()).isTrue();
  }

  @Test
  void thePartOfAnExemptCallerChargesNothing() {
    LimitPlan exempt = PLAN.inTier("gold").ofExempt();

    assertThat(exempt.charges()).isEmpty();
    assertThat(exempt.policy()).isEqualTo(PLAN.inTier("gold").policy());
    assertThat(exempt).isSameAs(PLAN.inTier("gold").ofExempt());
  }

  private static PolicyPlan policy(int count, Map<String, PolicyPlan> tiers) {
    return Plans.policy(
        RuleStack.of(List.of(SlidingWindowLogRule.of(count, Duration.ofMinutes(1)))), tiers);
  }
}
