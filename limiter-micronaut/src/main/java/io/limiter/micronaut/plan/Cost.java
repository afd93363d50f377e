// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.micronaut.subject.CallCost;
import io.micronaut.core.annotation.Internal;

/** What a call takes from each rule of one annotation. */
@Internal
public sealed interface Cost {

  /** The same for every call. */
  record Fixed(int units) implements Cost {

    /** One unit, as where nothing is said. */
    public static final Fixed ONE = new Fixed(1);

    @Override
    public String toString() {
      return Integer.toString(units);
    }
  }

  /** What the method's arguments tell. */
  record OfArguments(CallCost expression) implements Cost {
    @Override
    public String toString() {
      return expression.toString();
    }
  }

  /** Whether only a call of the method tells, with its arguments. */
  default boolean needsArguments() {
    return this instanceof OfArguments;
  }

  /**
   * What a request costs.
   *
   * @throws IllegalArgumentException if only the method's arguments tell
   */
  static int byRequest(Cost cost) {
    if (cost instanceof Fixed fixed) {
      return fixed.units();
    }
    throw new IllegalArgumentException("A request does not tell " + cost);
  }
}
