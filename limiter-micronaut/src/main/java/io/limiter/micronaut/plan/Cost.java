// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.micronaut.subject.CallExpression;
import io.micronaut.core.annotation.Internal;
import java.util.Optional;

/**
 * What a call takes from each rule of one annotation.
 *
 * @param units the same for every call; 1 if the arguments of a call determine its cost
 * @param byArguments computes the cost of a call from its arguments; empty if it is the same
 */
@Internal
public record Cost(int units, Optional<CallExpression> byArguments) {

  /** One unit, the default. */
  public static final Cost ONE = new Cost(1);

  /** The same for every call. */
  public Cost(int units) {
    this(units, Optional.empty());
  }

  /** Computed from the arguments of the method. */
  public Cost(CallExpression byArguments) {
    this(1, Optional.of(byArguments));
  }

  /** Whether it is computed from the arguments of the method. */
  public boolean needsArguments() {
    return byArguments.isPresent();
  }

  @Override
  public String toString() {
    return byArguments.map(Object::toString).orElseGet(() -> Integer.toString(units));
  }
}
