// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.micronaut.http.HttpRequest;
import io.micronaut.inject.MethodExecutionHandle;
import io.micronaut.web.router.RouteAttributes;
import jakarta.inject.Singleton;
import java.util.Optional;

/** The plans of the methods that answer requests. */
@Singleton
public final class RoutePlans {

  private final LimitPlans plans;

  RoutePlans(LimitPlans plans) {
    this.plans = plans;
  }

  /**
   * The plan of the method that answers this request; empty if none does, or if it is not limited.
   */
  public Optional<LimitPlan> of(HttpRequest<?> request) {
    return RouteAttributes.getRouteMatch(request)
        .flatMap(
            route ->
                route instanceof MethodExecutionHandle<?, ?> handle
                    ? plans.of(handle.getExecutableMethod())
                    : Optional.empty());
  }
}
