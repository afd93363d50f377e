// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.stream;

import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.annotation.StreamEnd;
import io.limiter.micronaut.plan.CompletionPlan;
import io.limiter.micronaut.plan.CompletionPlan.ActualCost;
import io.limiter.micronaut.plan.CompletionPlan.Steps;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlannedCharge;
import io.limiter.micronaut.plan.PolicyPlan;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What the streams of a method cost. A step neither counts as a violation for a ban nor is denied
 * by one: the client has made one call.
 *
 * @param cost computes the cost of an item
 * @param stacks those that it is taken from, without bans, by those of the plan
 * @param step the units of a step; 0 for the smallest cost of the call
 * @param cut whether the stream ends when a step is denied
 * @param certain whether the method always streams
 */
record StreamTerms(
    ActualCost cost, Map<RuleStack, RuleStack> stacks, int step, boolean cut, boolean certain) {

  /** Those of a plan; empty if its streams cost what calls do. */
  static Optional<StreamTerms> of(LimitPlan plan) {
    Map<RuleStack, ActualCost> costs = new HashMap<>();
    for (PolicyPlan policy : plan.policies()) {
      for (PlannedCharge planned : policy.charges()) {
        planned
            .actualCost()
            .filter(cost -> cost.steps().isPresent())
            .ifPresent(
                cost -> {
                  costs.put(planned.rules(), cost);
                  costs.put(planned.anonymousRules(), cost);
                });
      }
    }
    if (costs.isEmpty()) {
      return Optional.empty();
    }
    List<Steps> steps = costs.values().stream().flatMap(each -> each.steps().stream()).toList();
    return Optional.of(
        new StreamTerms(
            costs.values().iterator().next(),
            costs.keySet().stream()
                .collect(Collectors.toUnmodifiableMap(stack -> stack, StreamTerms::withoutBan)),
            steps.stream().mapToInt(Steps::units).filter(units -> units > 0).min().orElse(0),
            steps.stream().anyMatch(each -> each.end() == StreamEnd.CUT),
            steps.stream().allMatch(Steps::certain)));
  }

  /** That from which a step takes its units, by that of the call; null if its items cost none. */
  @Nullable RuleStack ofStep(RuleStack ofCall) {
    RuleStack ofStep = stacks.get(ofCall);
    return ofStep != null || !stacks.containsKey(CompletionPlan.planned(ofCall))
        ? ofStep
        : withoutBan(ofCall);
  }

  private static RuleStack withoutBan(RuleStack stack) {
    return stack.ban().isEmpty()
        ? stack
        : RuleStack.of(stack.rules()).withLease(stack.lease()); // they count all calls
  }
}
