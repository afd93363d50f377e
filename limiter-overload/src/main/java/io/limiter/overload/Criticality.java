// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * How much a route matters while the instance is overloaded: less critical requests are rejected
 * first. On a class it applies to each of its routes; that of a method goes before it, and what
 * {@code limiter.overload.paths} states for a path goes before both.
 *
 * <pre>{@code
 * @Post("/payments")
 * @Criticality(Criticality.Level.CRITICAL)
 * Payment pay(@Body NewPayment payment) { ... }
 * }</pre>
 */
@Inherited
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE, ElementType.ANNOTATION_TYPE})
public @interface Criticality {

  /** The criticality. */
  Level value();

  /**
   * The criticalities, the highest first. Each may use a share of the limit, so that there is room
   * left for those above it.
   */
  enum Level {

    /** Rejected last: three halves of the limit. Meant for half of the capacity at most. */
    CRITICAL(1.5),

    /** Five quarters of the limit. */
    HIGH(1.25),

    /** The limit. */
    NORMAL(1),

    /** Nine tenths of the limit. */
    LOW(0.9),

    /** Rejected first: three quarters of the limit. */
    BACKGROUND(0.75);

    private final double share;

    Level(double share) {
      this.share = share;
    }

    /** How many calls may be in flight, all together, when one of this criticality begins. */
    int room(int limit) {
      return this == NORMAL ? limit : Math.max(1, (int) (limit * share));
    }
  }
}
