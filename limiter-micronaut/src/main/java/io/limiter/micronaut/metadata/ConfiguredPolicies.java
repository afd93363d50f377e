// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.Policy;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.plan.LimitPlans;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.StartupEvent;
import io.micronaut.context.exceptions.ConfigurationException;
import jakarta.inject.Singleton;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * Stops the start if there are settings for a policy that does not exist: the intended policy would
 * silently lack them, which might only show while Redis is away. A policy from code is known if it
 * is a bean.
 */
@Singleton
final class ConfiguredPolicies implements ApplicationEventListener<StartupEvent> {

  /** Maximum number of names that a message lists. */
  private static final int MAX_LISTED = 20;

  private final PoliciesConfiguration configured;
  private final LimitPlans plans;
  private final ApplicationContext context;

  ConfiguredPolicies(
      PoliciesConfiguration configured, LimitPlans plans, ApplicationContext context) {
    this.configured = configured;
    this.plans = plans;
    this.context = context;
  }

  @Override
  public void onApplicationEvent(StartupEvent started) {
    Map<String, String> unknown = new TreeMap<>(configured.written());
    unknown.keySet().removeAll(plans.policyNames());
    if (!unknown.isEmpty()) {
      Set<String> known = allNames();
      unknown.keySet().removeAll(known);
      unknown.forEach(
          (policy, property) -> {
            throw new ConfigurationException(
                "%s: no policy is named '%s': use one of %s, give a @RateLimiter this name, or, for a policy from code, make it a bean of type %s"
                    .formatted(property, policy, listed(known), Policy.class.getName()));
          });
    }
    rejectObservingCode();
  }

  /** Rejects observing policies from code: that code itself requests observation. */
  private void rejectObservingCode() {
    for (String policy : configured.observed()) {
      if (!plans.policyNames().contains(policy)) {
        throw new ConfigurationException(
            "%s.%s.observe: only policies of annotated methods are observed by configuration, and this one comes from code: remove it, and use request.observe() there"
                .formatted(PoliciesConfiguration.PREFIX, policy));
      }
    }
  }

  /**
   * All names, including those of factories' beans, which are planned late, and of policies that
   * are beans. It inspects every bean, so it is used only if a name is doubtful.
   */
  private Set<String> allNames() {
    plans.planAll(context);
    Set<String> names = plans.policyNames();
    context.getBeansOfType(Policy.class).forEach(policy -> names.add(policy.name()));
    return names;
  }

  /** A policy without its own name has that of its method, which is long. */
  private static String listed(Set<String> names) {
    Set<String> given =
        names.stream().filter(name -> name.indexOf('(') < 0).collect(Collectors.toSet());
    return given.isEmpty()
        ? "the methods' (class.name(parameter types), as no policy has been given another)"
        : given.stream().sorted().limit(MAX_LISTED).collect(Collectors.joining(", "));
  }
}
