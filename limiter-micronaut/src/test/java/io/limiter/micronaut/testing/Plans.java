// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.testing;

import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.plan.CompletionPlan;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlannedCharge;
import io.limiter.micronaut.plan.PolicyPlan;
import io.limiter.micronaut.subject.SubjectSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Plans of one policy, 'policy', that counts users by one stack. */
public final class Plans {

  private Plans() {}

  /** The plan of a method that is guarded. */
  public static LimitPlan of(RuleStack stack) {
    return of(policy(stack, Map.of()));
  }

  public static LimitPlan of(PolicyPlan policy) {
    return LimitPlan.of("method", List.of(policy), true, false, false);
  }

  public static PolicyPlan policy(RuleStack stack, Map<String, PolicyPlan> tiers) {
    return new PolicyPlan(
        "policy",
        List.of(
            new PlannedCharge(
                "policy",
                new SubjectSource.User(Anonymous.ADDRESS),
                stack,
                stack,
                PlannedCharge.Cost.ONE,
                Optional.empty(),
                Optional.empty(),
                false,
                Optional.empty(),
                false)),
        Optional.empty(),
        Map.of(),
        stack.rules().stream().collect(Collectors.toMap(Rule::name, Rule::name)),
        CompletionPlan.Failure.USUAL,
        false,
        Optional.empty(),
        Optional.empty(),
        tiers,
        new LogThrottle());
  }
}
