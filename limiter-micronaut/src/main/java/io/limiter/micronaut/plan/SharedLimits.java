// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Rule;
import io.limiter.core.RuleStack;
import io.micronaut.context.exceptions.ConfigurationException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Sees to what methods may share: a name only if one annotation gives it to both, a limit only with
 * the same rules, since each would count by its own.
 */
final class SharedLimits {

  private record Named(String by, String method) {}

  private record Ruled(List<List<Rule>> stacks, String method) {}

  // Both are bounded by what the application's annotations say.
  private final Map<String, Named> names = new HashMap<>();
  private final Map<String, Ruled> limits = new HashMap<>();

  synchronized void register(LimitPlan plan) {
    Named namesake =
        names.putIfAbsent(plan.policy().name(), new Named(plan.namedBy(), plan.method()));
    if (namesake != null && !namesake.by.equals(plan.namedBy())) {
      throw new ConfigurationException(
          "%s: @RateLimiter.name = '%s' is also the name of the policy of %s: give each policy a name of its own"
              .formatted(plan.method(), plan.policy().name(), namesake.method));
    }
    stacks(plan).forEach((limit, stacks) -> requireSameRules(plan, limit, stacks));
  }

  private void requireSameRules(LimitPlan plan, String limit, List<List<Rule>> stacks) {
    Ruled sharer = limits.putIfAbsent(limit, new Ruled(stacks, plan.method()));
    if (sharer != null && !sharer.stacks.equals(stacks)) {
      throw new ConfigurationException(
          "%s: @RateLimiter.key = '%s' is shared with %s, which has other rules: give both the same rules, or other keys"
              .formatted(plan.method(), limit, sharer.method));
    }
  }

  private static Map<String, List<List<Rule>>> stacks(LimitPlan plan) {
    Map<String, List<List<Rule>>> stacks = new HashMap<>();
    for (Quota quota : plan.quotas()) {
      List<List<Rule>> ofLimit = stacks.computeIfAbsent(quota.limit(), any -> new ArrayList<>());
      ofLimit.add(nameless(quota.rules()));
      ofLimit.add(nameless(quota.anonymousRules()));
    }
    return stacks;
  }

  /** Another rule of the method may have taken the name that is made from the numbers. */
  private static List<Rule> nameless(RuleStack stack) {
    return stack.rules().stream().map(rule -> rule.withName("rule")).toList();
  }
}
