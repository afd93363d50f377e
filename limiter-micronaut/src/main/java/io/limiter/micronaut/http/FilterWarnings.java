// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.micronaut.config.LimiterConfiguration.GateConfiguration;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlanRegistry;
import io.micronaut.context.BeanContext;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.StartupEvent;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.filter.HttpClientFilter;
import io.micronaut.http.filter.HttpFilter;
import io.micronaut.inject.BeanDefinition;
import jakarta.inject.Singleton;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Warns of filters of the application that run before the gate although no order was chosen for
 * them: what they answer themselves is not limited, and nothing else would show it.
 */
@Singleton
final class FilterWarnings implements ApplicationEventListener<StartupEvent> {

  private static final Logger LOG = LoggerFactory.getLogger(FilterWarnings.class);

  private final GateConfiguration gate;
  private final PoliciesConfiguration settings;
  private final PlanRegistry plans;
  private final BeanContext beans;

  FilterWarnings(
      GateConfiguration gate,
      PoliciesConfiguration settings,
      PlanRegistry plans,
      BeanContext beans) {
    this.gate = gate;
    this.settings = settings;
    this.plans = plans;
    this.beans = beans;
  }

  @Override
  public void onApplicationEvent(StartupEvent started) {
    if (!gate.enabled() || !limitsRoutes()) {
      return;
    }
    List<String> early =
        beans.getBeanDefinitions(HttpFilter.class).stream()
            .<Class<?>>map(BeanDefinition::getBeanType)
            .filter(type -> !HttpClientFilter.class.isAssignableFrom(type))
            .filter(type -> !type.getName().startsWith("io.micronaut."))
            .filter(FilterWarnings::isWithoutOrder)
            .map(Class::getName)
            .sorted()
            .toList();
    if (!early.isEmpty()) {
      LOG.warn(
          "{} filters have no order of their own and run before the gate, whose order is {}: a request that they answer is not limited. An HttpServerFilter or HttpFilter has the order 0, and @Order has no effect on it: let getOrder() return more if it answers requests, less if it must see all. The filters are {}",
          early.size(),
          GateFilter.ORDER,
          PlanRegistry.listed(early));
    }
  }

  private boolean limitsRoutes() {
    return !settings.current().routes().isEmpty()
        || !plans.methods(LimitPlan::decidedByRequest).isEmpty();
  }

  private static boolean isWithoutOrder(Class<?> filter) {
    try {
      return filter.getMethod("getOrder").getDeclaringClass() == Ordered.class;
    } catch (NoSuchMethodException e) {
      return false; // in a native image, which does not list the methods of filters
    }
  }
}
