// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.context.exceptions.ConfigurationException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Checks what methods share: a limit only with the same rules, ban and lease, since each method
 * would count by its own.
 */
final class SharedLimits {

  /** The subject source, the counting and the rules: their names may differ, and so may costs. */
  private record CountedRules(
      String who,
      Counting counting,
      List<Rule> rules,
      List<Rule> anonymousRules,
      Optional<BanRule> ban,
      Duration lease) {}

  // Bounded by the annotations and the policies of the application.
  private final Map<String, LimitPlan> limits = new HashMap<>();

  synchronized void register(LimitPlan plan) {
    for (PlannedCharge planned : plan.charges()) {
      String limit = planned.limit();
      LimitPlan sharer = limits.putIfAbsent(limit, plan);
      if (sharer != null
          && sharer != plan
          && !counted(sharer, limit).equals(counted(plan, limit))) {
        throw new ConfigurationException(
            "%s: @RateLimiter.key = '%s' is shared with %s, whose rules, ban, lease or subject differ: make them the same, or use different keys"
                .formatted(plan.method(), limit, sharer.method()));
      }
    }
  }

  private static List<CountedRules> counted(LimitPlan plan, String limit) {
    return plan.charges().stream()
        .filter(planned -> planned.limit().equals(limit))
        .map(
            planned ->
                new CountedRules(
                    who(planned.source()),
                    planned.rules().counting(),
                    nameless(planned.rules()),
                    nameless(planned.anonymousRules()),
                    planned.rules().ban(),
                    planned.rules().lease()))
        .toList();
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
