// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.micronaut.inject.ExecutableMethod;
import jakarta.inject.Singleton;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** Makes the plan of one method of what its annotations say, and refuses what makes no sense. */
@Singleton
final class LimitPlanBuilder {

  private final LimitPlaces places;
  private final PlanReaders readers;

  LimitPlanBuilder(LimitPlaces places, PlanReaders readers) {
    this.places = places;
    this.readers = readers;
  }

  /** The plan of a method; empty if nothing limits it. */
  Optional<LimitPlan> build(ExecutableMethod<?, ?> method) {
    String description = describe(method);
    List<Place> limited = places.of(method, description);
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
