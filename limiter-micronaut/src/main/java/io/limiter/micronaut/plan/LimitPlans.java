// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.micronaut.annotation.Limited;
import io.micronaut.context.processor.ExecutableMethodProcessor;
import io.micronaut.inject.BeanDefinition;
import io.micronaut.inject.ExecutableMethod;
import jakarta.inject.Singleton;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The plans of all limited methods, each built once. Methods of beans are planned when the context
 * starts, so that a mistake in an annotation stops the start.
 */
@Singleton
public final class LimitPlans implements ExecutableMethodProcessor<Limited> {

  private final LimitPlanBuilder builder;
  // Bounded by the number of limited methods in the application.
  private final Map<ExecutableMethod<?, ?>, Optional<LimitPlan>> plans = new ConcurrentHashMap<>();
  private final SharedLimits shared = new SharedLimits();

  LimitPlans(LimitPlanBuilder builder) {
    this.builder = builder;
  }

  @Override
  public void process(BeanDefinition<?> bean, ExecutableMethod<?, ?> method) {
    of(method);
  }

  /** The plan of a method; empty if it is not limited. */
  public Optional<LimitPlan> of(ExecutableMethod<?, ?> method) {
    Optional<LimitPlan> known = plans.get(method);
    return known != null ? known : plans.computeIfAbsent(method, this::build);
  }

  private Optional<LimitPlan> build(ExecutableMethod<?, ?> method) {
    if (!method.hasStereotype(Limited.class)) {
      return Optional.empty();
    }
    Optional<LimitPlan> plan = builder.build(method);
    plan.ifPresent(shared::register);
    return plan;
  }
}
