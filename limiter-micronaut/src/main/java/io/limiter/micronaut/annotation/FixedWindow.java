// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import io.limiter.core.rule.CalendarPeriod;
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
 * <p>An aligned window is at most 7 days long. Longer ones are those of the {@link #calendar}:
 *
 * <pre>{@code
 * @RateRule(count = 100_000, fixedWindow = @FixedWindow(calendar = MONTH, zone = "Europe/Berlin"))
 * }</pre>
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({}) // only within a @RateRule
public @interface FixedWindow {

  /**
   * Whether windows begin at full seconds, minutes, hours or days. Not by default, unless {@link
   * #zone}, {@link #anchor} or {@link #calendar} is set, which imply it. A window that does not
   * divide a day needs an {@link #anchor}.
   */
  boolean aligned() default false;

  /**
   * Time zone of aligned windows, such as {@code Europe/Berlin}. By default as {@code limiter.zone}
   * configures, which itself defaults to UTC.
   */
  String zone() default "";

  /**
   * A local time at which some aligned window begins, such as {@code 2024-01-01T00:00} for weeks
   * from Monday. By default any midnight; with a {@link #calendar} that of a Monday, a first of the
   * month or the first of January. {@code 2024-01-31T00:00} begins months on the 31st, or on the
   * last day of a month that has none.
   *
   * <p>With a {@link #calendar} from a week on it may be that of each subject, such as a billing
   * day: an expression over the arguments, such as <code>#{customer.billingDay}</code>, that gives
   * a date, or the number of a day of the month or of the week; or the name of a {@link
   * PeriodAnchor} bean. Periods begin at midnight then. A subject's day may change: its period ends
   * with the first beginning that is a whole period later.
   */
  String anchor() default "";

  /**
   * The period of the calendar that is a window, in place of {@link RateRule#time}: a day, a week,
   * a month, a quarter or a year. It has as many hours as the zone's clocks make of it. One at
   * most; none by default.
   */
  CalendarPeriod[] calendar() default {};
}
