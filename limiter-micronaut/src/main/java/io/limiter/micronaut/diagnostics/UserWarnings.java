// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.diagnostics;

import io.limiter.micronaut.http.GateFilter;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlanRegistry;
import io.micronaut.context.BeanContext;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.StartupEvent;
import io.micronaut.core.reflect.ClassUtils;
import io.micronaut.http.filter.ServerFilterPhase;
import jakarta.inject.Singleton;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Warns at the start where USER_ID seems to find no user, so that its limits would count addresses,
 * and where micronaut-security answers wrong passwords that no limit counts.
 */
@Singleton
final class UserWarnings implements ApplicationEventListener<StartupEvent> {

  private static final Logger LOG = LoggerFactory.getLogger(UserWarnings.class);

  // Named, because a service may log in its users itself.
  private static final String SECURITY = "io.micronaut.security.filters.SecurityFilter";

  private static final String BASIC =
      "io.micronaut.security.authentication.BasicAuthAuthenticationFetcher";

  private final PlanRegistry plans;
  private final BeanContext beans;

  UserWarnings(PlanRegistry plans, BeanContext beans) {
    this.plans = plans;
    this.beans = beans;
  }

  @Override
  public void onApplicationEvent(StartupEvent started) {
    List<String> methods = plans.current().methods(LimitPlan::countsUsers);
    if (isBean(SECURITY)) {
      warnBesideSecurity();
    } else if (!methods.isEmpty()) {
      LOG.warn(
          "micronaut-security is missing or disabled, but methods count users (limitType = USER_ID): {} ({}). Unless a filter of the application sets the principal before the gate, whose order is {}, their callers are counted by address: add micronaut-security, or annotate that filter with @Order({})",
          methods.size(),
          PlanRegistry.listed(methods),
          GateFilter.ORDER,
          ServerFilterPhase.SECURITY.order());
    }
  }

  private void warnBesideSecurity() {
    List<String> guesses = plans.current().guessesBehindSecurity();
    if (guesses.isEmpty()
        && isBean(BASIC)
        && plans.current().has(plan -> true)
        && !plans.current().has(LimitPlan::beforeSecurity)) {
      LOG.warn(
          "HTTP Basic is on, and no limit is decided before micronaut-security, which answers wrong passwords with 401 before the gate decides: no limit counts them. Add a policy with before-security: true and a route /**, or set micronaut.security.basic-auth.enabled: false");
    }
    List<String> open = plans.current().usersOfOpenMethods();
    if (!open.isEmpty()) {
      LOG.warn(
          "Methods count users (limitType = USER_ID), but are open to callers that are not logged in, which the same rules count by address: {} ({}). Set anonymousRules or anonymous = REJECT, or secure them",
          open.size(),
          PlanRegistry.listed(open));
    }
    if (!guesses.isEmpty()) {
      LOG.warn(
          "Limits on failures with 401 do not count the 401 of micronaut-security, which answers before the gate decides: {} ({}). If security checks the passwords, decide them before it: beforeSecurity = true, or before-security: true in settings",
          guesses.size(),
          PlanRegistry.listed(guesses));
    }
  }

  private boolean isBean(String type) {
    return ClassUtils.forName(type, getClass().getClassLoader())
        .filter(beans::containsBean)
        .isPresent();
  }
}
