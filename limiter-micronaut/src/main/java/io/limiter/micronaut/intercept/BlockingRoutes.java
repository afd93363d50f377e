// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import io.limiter.micronaut.config.GateConfiguration;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.LimitPlans;
import io.limiter.micronaut.plan.RoutePlans;
import io.micronaut.context.BeanProvider;
import io.micronaut.context.event.BeanCreatedEvent;
import io.micronaut.context.event.BeanCreatedEventListener;
import io.micronaut.core.async.publisher.Publishers;
import io.micronaut.core.type.ReturnType;
import io.micronaut.inject.ExecutableMethod;
import io.micronaut.inject.MethodExecutionHandle;
import io.micronaut.inject.MethodReference;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.executor.ExecutorSelector;
import io.micronaut.scheduling.executor.ThreadSelection;
import jakarta.inject.Named;
import jakarta.inject.Singleton;
import java.util.Optional;
import java.util.concurrent.ExecutorService;

/**
 * Moves the routes that have to wait for their decision off the event loop: those which return
 * their result themselves, or stream it, and whose decision needs their arguments. Whatever the
 * application says about a route's executor goes before.
 */
@Singleton
final class BlockingRoutes implements BeanCreatedEventListener<ExecutorSelector> {

  private final BeanProvider<LimitPlans> plans;
  private final BeanProvider<ExecutorService> blocking;
  private final GateConfiguration gate;

  BlockingRoutes(
      BeanProvider<LimitPlans> plans,
      @Named(TaskExecutors.BLOCKING) BeanProvider<ExecutorService> blocking,
      GateConfiguration gate) {
    this.plans = plans;
    this.blocking = blocking;
    this.gate = gate;
  }

  @Override
  public ExecutorSelector onCreated(BeanCreatedEvent<ExecutorSelector> event) {
    ExecutorSelector applications = event.getBean();
    return new ExecutorSelector() {
      @Override
      public Optional<ExecutorService> select(
          MethodReference<?, ?> method, ThreadSelection threadSelection) {
        Optional<ExecutorService> chosen = applications.select(method, threadSelection);
        return chosen.isEmpty() && waits(method) ? Optional.of(blocking.get()) : chosen;
      }

      @Override
      public Optional<ExecutorService> select(String name) {
        return applications.select(name);
      }
    };
  }

  private boolean waits(MethodReference<?, ?> reference) {
    if (reference instanceof MethodExecutionHandle<?, ?> handle) {
      return waits(handle.getExecutableMethod());
    }
    if (!(reference instanceof ExecutableMethod<?, ?> method)) {
      return false;
    }
    // The guard decides the calls of a WebSocket, and no answer begins with what they stream.
    boolean socket = RoutePlans.isOfWebSocket(method);
    Optional<LimitPlan> plan = plans.get().of(method);
    return plan.isPresent()
        && (socket || decidedByGuard(plan.get()))
        && (isSynchronous(method.getReturnType()) || (!socket && isStream(method.getReturnType())));
  }

  private boolean decidedByGuard(LimitPlan plan) {
    return !gate.decides() || !plan.decidedByRequest();
  }

  private static boolean isSynchronous(ReturnType<?> result) {
    return !result.isSuspended() && !result.isAsyncOrReactive();
  }

  private static boolean isStream(ReturnType<?> result) {
    return Publishers.isConvertibleToPublisher(result.getType()) && !result.isSingleResult();
  }
}
