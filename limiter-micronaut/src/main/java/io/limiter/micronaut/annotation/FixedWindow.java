// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Counts calls in windows that begin at times fixed by the clock, rather than with a call. Windows
 * that begin with a call are {@link Algorithm#FIXED_WINDOW}, which has no parameters.
 *
 * <pre>{@code
 * @RateRule(count = 1000, time = 1, timeUnit = TimeUnit.DAYS,
 *     fixedWindow = @FixedWindow(zone = "Europe/Berlin"))
 * }</pre>
 *
 * <p>No aligned window may be longer than 7 days.
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({}) // only within a @RateRule
public @interface FixedWindow {

  /**
   * Whether windows begin at full seconds, minutes, hours or days. Not by default, unless {@link
   * #zone} or {@link #anchor} is set, which imply it. A window that does not divide a day needs an
   * {@link #anchor}.
   */
  boolean aligned() default false;

  /**
   * Time zone of aligned windows, such as {@code Europe/Berlin}. By default as {@code limiter.zone}
   * configures, which itself defaults to UTC.
   */
  String zone() default "";

  /**
   * A local time at which some aligned window begins, such as {@code 2024-01-01T00:00} for weeks
   * from Monday. By default any midnight.
   */
  String anchor() default "";
}
