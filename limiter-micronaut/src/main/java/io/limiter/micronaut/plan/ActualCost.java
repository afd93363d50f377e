// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Charge;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.annotation.ResultCost;
import io.micronaut.core.annotation.Internal;
import java.util.OptionalInt;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a call has cost, as a bean of the application computes from its result. Two of them are
 * equal if they name the same bean.
 */
@Internal
public record ActualCost(Class<? extends ResultCost> type, Supplier<? extends ResultCost> bean) {

  /** The units, 0 to {@value Charge#MAX_COST}; empty if the bean fails. */
  OptionalInt of(@Nullable Object result) {
    try {
      int cost = bean.get().of(result);
      if (cost < 0 || cost > Charge.MAX_COST) {
        throw new IllegalStateException(
            "It gave %d: let it give 0 to %d".formatted(cost, Charge.MAX_COST));
      }
      return OptionalInt.of(cost);
    } catch (Throwable broken) { // the call itself has been made
      Failures.THROTTLE.report(
          Failures.LOG,
          "%s has failed, so calls cost what was estimated".formatted(type.getName()),
          broken);
      return OptionalInt.empty();
    }
  }

  /** Creates the log when it is first needed. */
  private static final class Failures {

    static final Logger LOG = LoggerFactory.getLogger(ActualCost.class);
    static final LogThrottle THROTTLE = new LogThrottle();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ActualCost that && type.equals(that.type);
  }

  @Override
  public int hashCode() {
    return type.hashCode();
  }

  @Override
  public String toString() {
    return type.getName();
  }
}
