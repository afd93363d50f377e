// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpRequest;
import io.micronaut.inject.ExecutableMethod;
import io.micronaut.inject.MethodExecutionHandle;
import io.micronaut.web.router.RouteAttributes;
import jakarta.inject.Singleton;
import java.util.Optional;

/** The plans of the methods that answer requests. */
@Internal
@Singleton
public final class RoutePlans {

  // Named, because no service needs them.
  private static final String ON_OPEN = "io.micronaut.websocket.annotation.OnOpen";
  private static final String ON_MESSAGE = "io.micronaut.websocket.annotation.OnMessage";

  private final LimitPlans plans;

  RoutePlans(LimitPlans plans) {
    this.plans = plans;
  }

  /**
   * The plan of the method that answers this request; empty if none does, or if it is not limited.
   * The methods of a WebSocket answer none: the request that opens it matches one of them,
   * whichever is written first, and they are called later, each call with a decision of its own.
   */
  public Optional<LimitPlan> of(HttpRequest<?> request) {
    return RouteAttributes.getRouteMatch(request).orElse(null)
            instanceof MethodExecutionHandle<?, ?> handle
        ? of(handle.getExecutableMethod())
        : Optional.empty();
  }

  private Optional<LimitPlan> of(ExecutableMethod<?, ?> method) {
    Optional<LimitPlan> plan = plans.of(method);
    return plan.isPresent() && isOfWebSocket(method) ? Optional.empty() : plan;
  }

  /** Whether calls of a method are the connections or the messages of a WebSocket. */
  public static boolean isOfWebSocket(ExecutableMethod<?, ?> method) {
    return method.hasAnnotation(ON_MESSAGE) || method.hasAnnotation(ON_OPEN);
  }
}
