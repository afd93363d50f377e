// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Policy;
import io.limiter.micronaut.annotation.Limited;
import io.micronaut.context.exceptions.ConfigurationException;
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
  private final Map<String, LimitPlan> byName = new ConcurrentHashMap<>();
  private final Map<String, LimitPlan> byLimit = new ConcurrentHashMap<>();

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
    LimitPlan plan = builder.build(method);
    LimitPlan namesake = byName.putIfAbsent(plan.policy().name(), plan);
    if (namesake != null && !namesake.equals(plan)) {
      throw new ConfigurationException(
          "%s: @RateLimiter.name = '%s' is also the name of the policy of %s: give each policy a name of its own"
              .formatted(plan.method(), plan.policy().name(), namesake.method()));
    }
    LimitPlan sharer = byLimit.putIfAbsent(plan.policy().limit(), plan);
    if (sharer != null && !sameRules(sharer.policy(), plan.policy())) {
      throw new ConfigurationException(
          "%s: @RateLimiter.key = '%s' is shared with %s, which has other rules: give both the same rules, or other keys"
              .formatted(plan.method(), plan.policy().limit(), sharer.method()));
    }
    return Optional.of(plan);
  }

  private static boolean sameRules(Policy one, Policy other) {
    return one.rules().equals(other.rules()) && one.duplicates().equals(other.duplicates());
  }
}
