// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.diagnostics;

import io.limiter.micronaut.config.LimiterConfiguration.GateConfiguration;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.http.GateFilter;
import io.limiter.micronaut.plan.PlanRegistry;
import io.micronaut.context.BeanContext;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.StartupEvent;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.filter.HttpClientFilter;
import io.micronaut.http.filter.HttpFilter;
import io.micronaut.http.server.annotation.PreMatching;
import io.micronaut.inject.BeanDefinition;
import io.micronaut.inject.ExecutableMethod;
import io.micronaut.inject.qualifiers.Qualifiers;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Names the filters of the application that run before the gate: a request that they answer is not
 * limited, and nothing else would show it. If no order was chosen for them, this is a warning.
 */
@Singleton
final class FilterWarnings implements ApplicationEventListener<StartupEvent> {

  private static final Logger LOG = LoggerFactory.getLogger(FilterWarnings.class);

  /** Packages whose filters are not the application's. */
  private static final List<String> OTHERS =
      List.of(
          "io.micronaut.",
          "io.limiter.idempotency.",
          "io.limiter.micronaut.http.",
          "io.limiter.micronaut.metrics.",
          "io.limiter.overload.");

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
    List<String> unordered = new ArrayList<>();
    List<String> ordered = new ArrayList<>();
    for (BeanDefinition<?> filter : filters()) {
      int order = earliestOrder(filter);
      if (order < GateFilter.ORDER) {
        boolean chosen = order != 0 || !hasDefaultOrder(filter);
        (chosen ? ordered : unordered).add(filter.getBeanType().getName());
      }
    }
    if (!unordered.isEmpty()) {
      LOG.warn(
          "Filters without an order of their own run before the gate, whose order is {}: {} ({}). A request that they answer is not limited. An HttpServerFilter or HttpFilter, on which @Order has no effect, and a @ServerFilter that implements Ordered have the order 0 unless they override getOrder(), and since Micronaut 5 so has a @ServerFilter without @Order: choose a higher order than the gate's for one that answers requests, a lower one for one that must see all",
          GateFilter.ORDER,
          unordered.size(),
          PlanRegistry.listed(unordered));
    }
    if (!ordered.isEmpty()) {
      LOG.info(
          "Filters run before the gate, whose order is {}, by the order chosen for them: {} ({}). A request that they answer is not limited",
          GateFilter.ORDER,
          ordered.size(),
          PlanRegistry.listed(ordered));
    }
  }

  /** The application's filters of requests to the server, of both kinds, by name. */
  private List<BeanDefinition<?>> filters() {
    return Stream.<BeanDefinition<?>>concat(
            beans.getBeanDefinitions(HttpFilter.class).stream()
                .filter(filter -> !HttpClientFilter.class.isAssignableFrom(filter.getBeanType())),
            beans.getBeanDefinitions(Qualifiers.byStereotype(ServerFilter.class)).stream())
        .filter(filter -> OTHERS.stream().noneMatch(filter.getBeanType().getName()::startsWith))
        .sorted(Comparator.comparing(filter -> filter.getBeanType().getName()))
        .toList();
  }

  private boolean limitsRoutes() {
    return !settings.current().routes().isEmpty()
        || !plans.current().methods(plan -> plan.gatePart() != null).isEmpty();
  }

  private int orderOfBean(BeanDefinition<?> filter) {
    if (!Ordered.class.isAssignableFrom(filter.getBeanType())) {
      return GateFilter.WITHOUT_ORDER;
    }
    if (hasDefaultOrder(filter)) {
      return 0;
    }
    try {
      return ((Ordered) beans.getBean(filter)).getOrder();
    } catch (
        RuntimeException unknown) { // such as that of a filter of a scope that is not there yet
      LOG.debug("The order of {} is not known at the start", filter.getBeanType(), unknown);
      return Ordered.LOWEST_PRECEDENCE;
    }
  }

  /** Whether its order, 0, is none of its own, but Micronaut's. */
  private static boolean hasDefaultOrder(BeanDefinition<?> filter) {
    if (!Ordered.class.isAssignableFrom(filter.getBeanType())) {
      return !filter.hasAnnotation(Order.class);
    }
    try {
      return filter.getBeanType().getMethod("getOrder").getDeclaringClass() == Ordered.class;
    } catch (NoSuchMethodException e) {
      return false; // in a native image, which does not list the methods of filters
    }
  }

  /** As Micronaut finds it: by {@link Order}, which counts for methods only, else by the bean. */
  private int earliestOrder(BeanDefinition<?> filter) {
    int ofBean = orderOfBean(filter);
    int earliest =
        HttpFilter.class.isAssignableFrom(filter.getBeanType()) ? ofBean : Integer.MAX_VALUE;
    for (ExecutableMethod<?, ?> method : filter.getExecutableMethods()) {
      if (method.hasAnnotation(RequestFilter.class)) {
        int order = method.intValue(Order.class).orElse(ofBean);
        earliest =
            Math.min(earliest, method.hasAnnotation(PreMatching.class) ? Integer.MIN_VALUE : order);
      }
    }
    return earliest;
  }
}
