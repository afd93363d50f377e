// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.diagnostics;

import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.plan.DuplicateGuard;
import io.limiter.micronaut.plan.PlanGeneration;
import io.limiter.micronaut.plan.PlanGeneration.OnMethod;
import io.limiter.micronaut.plan.PlanListener;
import io.limiter.micronaut.plan.PlannedCharge;
import io.limiter.micronaut.plan.PolicyPlan;
import jakarta.inject.Singleton;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Warns of a change of rules that counts from zero: state belongs to a limit key, a kind of
 * subject, and rules of one shape, see {@link RuleStack#name()}.
 */
@Singleton
final class ShapeChanges implements PlanListener {

  private static final Logger LOG = LoggerFactory.getLogger(ShapeChanges.class);

  /**
   * The callers whose calls are counted together.
   *
   * @param tier empty for callers without one
   */
  private record PolicyInTier(String policy, String tier) {}

  /** Warns once for each policy. */
  @Override
  public void changed(PlanGeneration earlier, PlanGeneration later) {
    List<OnMethod> before = earlier.policies();
    List<OnMethod> after = later.policies();
    Set<String> tiers = new TreeSet<>(Set.of(""));
    Stream.concat(before.stream(), after.stream())
        .forEach(each -> tiers.addAll(each.policy().tiers().keySet()));
    Map<PolicyInTier, Map<String, RuleStack>> old = stacks(before, tiers);
    Map<PolicyInTier, Map<String, RuleStack>> now = stacks(after, tiers);
    Map<String, Set<String>> changes = new TreeMap<>();
    old.forEach(
        (limited, stacks) -> {
          Map<String, RuleStack> others = now.getOrDefault(limited, Map.of());
          List<Rule> gone = without(stacks, others.keySet());
          List<Rule> begun = without(others, stacks.keySet());
          if (!gone.isEmpty() && !begun.isEmpty()) {
            changes
                .computeIfAbsent(limited.policy(), any -> new TreeSet<>())
                .add("%s instead of %s".formatted(begun, gone));
          }
        });
    changes.forEach(
        (policy, all) ->
            LOG.warn(
                "The policy '{}' counts from zero for each subject, since its rules have another shape or key: {}. Old and new instances together admit at most what both admit alone",
                policy,
                String.join("; ", all)));
  }

  /** The stacks by what names their state. */
  private static Map<PolicyInTier, Map<String, RuleStack>> stacks(
      List<OnMethod> policies, Set<String> tiers) {
    Map<PolicyInTier, Map<String, RuleStack>> all = new HashMap<>();
    for (OnMethod each : policies) {
      for (String tier : tiers) {
        PolicyPlan plan = each.policy().inTier(tier);
        Map<String, RuleStack> stacks =
            all.computeIfAbsent(new PolicyInTier(plan.name(), tier), any -> new LinkedHashMap<>());
        for (PlannedCharge charge : plan.charges()) {
          String counted = charge.limit() + ' ' + charge.source().written() + ' ';
          stacks.put(counted + charge.rules().name(), charge.rules());
          stacks.put(counted + charge.anonymousRules().name(), charge.anonymousRules());
        }
        plan.duplicates()
            .map(DuplicateGuard::stack)
            .ifPresent(guard -> stacks.put("duplicates " + guard.name(), guard));
      }
    }
    return all;
  }

  private static List<Rule> without(Map<String, RuleStack> some, Set<String> names) {
    return some.entrySet().stream()
        .filter(stack -> !names.contains(stack.getKey()))
        .flatMap(stack -> stack.getValue().rules().stream())
        .distinct()
        .toList();
  }
}
