// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.LimitPlans;
import io.micronaut.inject.ExecutableMethod;
import jakarta.inject.Singleton;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** Creates the plan of a method from its annotations, and rejects invalid ones. */
@Singleton
final class AnnotationPlanSource implements LimitPlans.Source {

  private final AnnotatedPlaces places;
  private final PlanReaders readers;

  AnnotationPlanSource(AnnotatedPlaces places, PlanReaders readers) {
    this.places = places;
    this.readers = readers;
  }

  @Override
  public List<String> limits(ExecutableMethod<?, ?> method) {
    return List.of(
        AnnotatedPlace.asWritten(method.getAnnotationValuesByType(RateLimiter.class).toArray()),
        AnnotatedPlace.asWritten(method.getAnnotationValuesByType(RateRule.class).toArray()));
  }

  @Override
  public Optional<LimitPlan> plan(ExecutableMethod<?, ?> method) {
    String description = describe(method);
    List<AnnotatedPlace> limited = places.of(method, description);
    if (limited.isEmpty()) {
      return Optional.empty();
    }
    PlanDraft draft = new PlanDraft(readers, description, method);
    limited.forEach(draft::add);
    return Optional.of(draft.plan());
  }

  private static String describe(ExecutableMethod<?, ?> method) {
    return Arrays.stream(method.getArgumentTypes())
        .map(Class::getTypeName)
        .collect(
            Collectors.joining(
                ",",
                method.getDeclaringType().getName() + "." + method.getMethodName() + "(",
                ")"));
  }
}
