// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.util.NearestNames;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.config.SettingsRefresh;
import io.limiter.micronaut.subject.RequestSubjects;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * The policies of the plans. The first use plans what was not called yet, such as the methods of
 * factories' beans: a policy without some of its methods would name only some of its keys.
 */
@Singleton
@Requires(missingBeans = LimitPolicies.class)
final class PlannedPolicies implements LimitPolicies {

  private final PlanRegistry plans;
  private final PoliciesConfiguration policies;
  private final RequestSubjects subjects;
  private final SettingsRefresh settings;
  private volatile boolean complete;

  PlannedPolicies(
      PlanRegistry plans,
      PoliciesConfiguration policies,
      RequestSubjects subjects,
      SettingsRefresh settings) {
    this.plans = plans;
    this.policies = policies;
    this.subjects = subjects;
    this.settings = settings;
  }

  @Override
  public LimitedPolicy get(String name) {
    planAll();
    if (plans.current().named(name).isEmpty() && !plans.current().policyNames().contains(name)) {
      throw unknown(name);
    }
    return new LimitedPolicy(
        name,
        plans.current().usualTier(),
        () -> plans.current().named(name),
        () -> policies.current().of(name).settings(),
        subjects);
  }

  private IllegalArgumentException unknown(String name) {
    Set<String> known = names();
    List<String> nearest = NearestNames.of(known, name);
    return new IllegalArgumentException(
        nearest.isEmpty()
            ? "No policy is named '%s': use one of %s"
                .formatted(name, PlanRegistry.listed(List.copyOf(known)))
            : "No policy is named '%s': did you mean %s?"
                .formatted(name, PlanRegistry.listed(nearest)));
  }

  @Override
  public boolean refresh() {
    return settings.refresh().isEmpty();
  }

  private void planAll() {
    if (!complete) {
      plans.planAll(plans.current()); // twice at the same time gives the same plans
      complete = true;
    }
  }

  @Override
  public Set<String> names() {
    planAll();
    Set<String> names = new TreeSet<>(plans.current().policyNames());
    names.removeIf(name -> plans.current().named(name).isEmpty());
    return Collections.unmodifiableSet(names);
  }
}
