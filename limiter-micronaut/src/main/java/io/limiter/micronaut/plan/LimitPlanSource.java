// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.micronaut.core.annotation.Internal;
import io.micronaut.inject.ExecutableMethod;
import java.util.List;
import java.util.Optional;

/** Where {@link LimitPlans} come from. */
@Internal
public interface LimitPlanSource {

  /**
   * The plan of a method; empty if nothing limits it.
   *
   * @throws io.micronaut.context.exceptions.ConfigurationException if its limits make no sense
   */
  Optional<LimitPlan> plan(ExecutableMethod<?, ?> method);

  /** What limits a method, equal for two objects that stand for one method with the same limits. */
  List<String> limits(ExecutableMethod<?, ?> method);
}
