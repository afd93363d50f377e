// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.micronaut.config.LimiterConfiguration.GateConfiguration;
import io.limiter.micronaut.config.PolicyChanges;
import io.limiter.micronaut.definition.LimitedMethod;
import io.limiter.micronaut.definition.MemberSet;
import io.limiter.micronaut.definition.Origin;
import io.limiter.micronaut.definition.PolicyDefinition;
import io.limiter.micronaut.definition.PolicyMember;
import io.micronaut.core.annotation.Internal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Plans the policies of one method: the place nearest to the method is added first. */
@Internal
public final class MethodPlanner {

  /**
   * What planning needs.
   *
   * @param requireUsable rejects unusable messages by an {@link IllegalArgumentException}
   * @param clampedCosts counts the actual costs that were out of range
   */
  @Internal
  public record PlanningBeans(
      RuleReader rules,
      SubjectReader subjects,
      NamedBeans beans,
      GateConfiguration gate,
      Consumer<String> requireUsable,
      LongAdder clampedCosts) {}

  /**
   * What was planned.
   *
   * @param policies the policies that limit something; none if nothing limits the method
   * @param ruleNames the names of all its policies, including those that are disabled, each with
   *     the names of the rules that single settings may change
   */
  @Internal
  public record Planned(List<PolicyPlan> policies, Map<String, Set<String>> ruleNames) {}

  private final PlanningBeans parts;
  private final PolicyChanges changes;
  private final String description;
  private final @Nullable LimitedMethod method;
  private final PolicyPlanner.Ordinals ordinals = new PolicyPlanner.Ordinals();
  private final Map<String, PolicyPlanner> planners = new LinkedHashMap<>();
  private boolean guardIsWritten;
  private boolean guarded;

  private MethodPlanner(
      PlanningBeans parts,
      PolicyChanges changes,
      String description,
      @Nullable LimitedMethod method) {
    this.parts = parts;
    this.changes = changes;
    this.description = description;
    this.method = method;
  }

  /**
   * Plans a method.
   *
   * @param definitions those of each place, nearest first
   * @param changes what settings change of them
   * @throws io.micronaut.context.exceptions.ConfigurationException if its limits are invalid
   */
  public static Planned plan(
      PlanningBeans parts,
      LimitedMethod method,
      List<List<PolicyDefinition>> definitions,
      PolicyChanges changes) {
    MethodPlanner planner = new MethodPlanner(parts, changes, method.description(), method);
    definitions.forEach(planner::add);
    return planner.planned();
  }

  /** Plans a policy that exists only in settings. */
  static Planned plan(PlanningBeans parts, PolicyDefinition policy, PolicyChanges changes) {
    MethodPlanner planner = new MethodPlanner(parts, changes, policy.name(), null);
    planner.add(List.of(policy));
    return planner.planned();
  }

  private void add(List<PolicyDefinition> place) {
    boolean written = guardIsWritten;
    for (PolicyDefinition policy : place) {
      String name = policy.name();
      // Of annotations without a name, the nearest one only.
      boolean nearest = !name.equals(description) || !planners.containsKey(name);
      PolicyDefinition change = changes.of(policy, parts.rules()::nameOf);
      PolicyDefinition changed = policy.with(nearest ? change : change.shared());
      MemberSet members = changed.members();
      String limit =
          planners.isEmpty() || name.equals(planners.keySet().iterator().next())
              ? description
              : description + ' ' + name;
      PolicyPlanner planner =
          planners.computeIfAbsent(
              name, any -> new PolicyPlanner(parts, name, description, method));
      if (!members.isFalse(PolicyMember.ENABLED)) {
        boolean guards = PolicyPlanner.wantsGuard(members);
        if (guards && !guardIsWritten && guarded) {
          throw members.mistake(
              PolicyMember.DUPLICATE,
              true,
              "another @RateLimiter in the same place has it, too: one call is one submission, so remove one of them");
        }
        planner.add(changed, limit, guards && !guardIsWritten, ordinals);
        guarded |= guards;
        written |= guards || members.has(PolicyMember.DUPLICATE);
      }
    }
    guardIsWritten = written;
  }

  private Planned planned() {
    List<PolicyPlan> policies = new ArrayList<>();
    Optional<Origin> beforeSecurity = Optional.empty(); // evaluated once all places have been read
    for (PolicyPlanner planner : planners.values()) {
      PolicyPlan policy = planner.plan();
      if (!policy.isEmpty()) {
        policies.add(policy);
        beforeSecurity = beforeSecurity.or(policy::beforeSecurity);
      }
    }
    MethodChecks.requireGuardedResult(method, policies);
    MethodChecks.requireRequest(method, policies);
    if (beforeSecurity.isPresent()) {
      policies.replaceAll(PolicyPlan::decidedBeforeSecurity);
      MethodChecks.requireBeforeSecurity(
          beforeSecurity.get(), method, policies, parts.gate().enabled());
    }
    MethodChecks.requireEarly(method, policies, parts.gate().enabled());
    MethodChecks.requireOneThatWaits(description, policies);
    MethodChecks.requireOneCostOfItems(description, policies);
    Map<String, Set<String>> ruleNames = new TreeMap<>();
    planners.forEach((name, planner) -> ruleNames.put(name, planner.writtenNames()));
    return new Planned(List.copyOf(policies), ruleNames);
  }
}
