// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.context.exceptions.ConfigurationException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Checks what methods share: a limit only with the same rules, ban and lease, since each method
 * would count by its own.
 */
final class SharedLimits {

  private record Ruled(List<CountedRules> charges, String method) {}

  /** The subject source, the counting and the rules: their names may differ, and so may costs. */
  private record CountedRules(
      String who,
      Counting counting,
      List<Rule> rules,
      List<Rule> anonymousRules,
      Optional<BanRule> ban,
      Duration lease) {}

  // Bounded by the annotations of the application.
  private final Map<String, Ruled> limits = new HashMap<>();

  synchronized void register(LimitPlan plan) {
    counted(plan).forEach((limit, charges) -> requireSame(plan, limit, charges));
  }

  private void requireSame(LimitPlan plan, String limit, List<CountedRules> charges) {
    Ruled sharer = limits.putIfAbsent(limit, new Ruled(charges, plan.method()));
    if (sharer != null && !sharer.charges.equals(charges)) {
      throw new ConfigurationException(
          "%s: @RateLimiter.key = '%s' is shared with %s, whose rules, ban, lease or subject differ: make them the same, or use different keys"
              .formatted(plan.method(), limit, sharer.method));
    }
  }

  private static Map<String, List<CountedRules>> counted(LimitPlan plan) {
    Map<String, List<CountedRules>> counted = new HashMap<>();
    for (PlannedCharge planned : plan.charges()) {
      counted
          .computeIfAbsent(planned.limit(), any -> new ArrayList<>())
          .add(
              new CountedRules(
                  who(planned.source()),
                  planned.rules().counting(),
                  nameless(planned.rules()),
                  nameless(planned.anonymousRules()),
                  planned.rules().ban(),
                  planned.rules().lease()));
    }
    return counted;
  }

  /** The arguments of two methods may have different names: their expressions count as equal. */
  private static String who(SubjectSource source) {
    return source.kind() == SubjectSource.Kind.EXPRESSION ? "an argument" : source.written();
  }

  /** Another rule of the method may have taken the name that is made from the numbers. */
  private static List<Rule> nameless(RuleStack stack) {
    return stack.rules().stream().map(rule -> rule.withName("rule")).toList();
  }
}
