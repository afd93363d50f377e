// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.concurrent.TimeUnit;

/**
 * Refuses a subject altogether for a while, after the rules of a {@link RateLimiter} have refused
 * it too often. What is refused during the ban does not prolong it.
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

  /** Refused calls after which the ban begins: the last of them is banned. 5 by default. */
  int violations() default 5;

  /**
   * Time from the first of them in which they count, in {@link #timeUnit}s. 60 by default; from 1
   * ms to 366 days.
   */
  long within() default 60;

  /** How long the first ban lasts, in {@link #timeUnit}s. 60 by default; from 1 ms to 366 days. */
  long time() default 60;

  /** Unit of {@link #within}, {@link #time} and {@link #longest}. Seconds by default. */
  TimeUnit timeUnit() default TimeUnit.SECONDS;

  /** By which each ban is longer than the one before, 1 to 100. 1 by default: all are alike. */
  int growth() default 1;

  /**
   * The longest ban, in {@link #timeUnit}s. By default 24 hours where bans grow. Who has kept out
   * of bans for that long begins at {@link #time} again.
   */
  long longest() default 0;
}
