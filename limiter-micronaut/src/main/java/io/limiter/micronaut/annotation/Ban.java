// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.concurrent.TimeUnit;

/**
 * Denies every call of a subject for some time, after the rules of a {@link RateLimiter} have
 * denied it too often. Calls denied during a ban do not prolong it.
 *
 * <pre>{@code
 * @RateLimiter(
 *     rules = @RateRule(count = 3, time = 1),
 *     ban = @Ban(violations = 5, within = 10, time = 30))
 * }</pre>
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({}) // only within a @RateLimiter
public @interface Ban {

  /**
   * Number of denied calls after which the ban begins: the last of them is banned. 5 by default.
   */
  int violations() default 5;

  /**
   * Time, from the first violation, within which violations are counted, in {@link #timeUnit}s. 60
   * by default; from 1 ms to 366 days.
   */
  long within() default 60;

  /** How long the first ban lasts, in {@link #timeUnit}s. 60 by default; from 1 ms to 366 days. */
  long time() default 60;

  /** Unit of {@link #within}, {@link #time} and {@link #longest}. Seconds by default. */
  TimeUnit timeUnit() default TimeUnit.SECONDS;

  /**
   * Factor by which each ban is longer than the previous one, 1 to 100. 1 by default: all bans have
   * the same length.
   */
  int growth() default 1;

  /**
   * The longest ban, in {@link #timeUnit}s. By default 24 hours where bans grow. A subject that was
   * not banned for that long begins at {@link #time} again.
   */
  long longest() default 0;
}
