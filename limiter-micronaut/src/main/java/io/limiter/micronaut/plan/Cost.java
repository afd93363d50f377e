// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.micronaut.subject.CallCost;
import io.micronaut.core.annotation.Internal;

/** What a call takes from each rule of one annotation. */
@Internal
public sealed interface Cost {

  /** The same for every call. */
  record Fixed(int units) implements Cost {

    /** One unit, the default. */
    public static final Fixed ONE = new Fixed(1);

    @Override
    public String toString() {
      return Integer.toString(units);
    }
  }

  /** Computed from the arguments of the method. */
  record OfArguments(CallCost expression) implements Cost {
    @Override
    public String toString() {
      return expression.toString();
    }
  }

  /** Whether it is computed from the arguments of the method. */
  default boolean needsArguments() {
    return this instanceof OfArguments;
  }

  /**
   * What a request costs.
   *
   * @throws IllegalArgumentException if it is computed from the arguments of the method
   */
  static int byRequest(Cost cost) {
    if (cost instanceof Fixed fixed) {
      return fixed.units();
    }
    throw new IllegalArgumentException("A request has no cost by " + cost);
  }
}
