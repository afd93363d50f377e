// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.concurrent.TimeUnit;

/**
 * One rule: at most {@link #count} calls in any interval of {@link #time}. Several of them stack,
 * and a call passes only if all of them admit it.
 *
 * <pre>{@code
 * @Post("/sms")
 * @RateRule(count = 1, time = 60)
 * @RateRule(count = 10, time = 1, timeUnit = TimeUnit.HOURS)
 * @RateRule(count = 1000, time = 1, limitType = LimitType.GLOBAL)
 * HttpResponse<?> sendCode(String phone) { ... }
 * }</pre>
 *
 * <p>By itself it counts each client address. Inside {@link RateLimiter#rules}, or beside the only
 * {@link RateLimiter} of a method, it counts whom that annotation names. A rule may also name whom
 * it counts itself.
 *
 * <p>On a class it holds for each method by itself: for the routes of a controller, for all methods
 * of other beans. It holds for methods that implement or override the one it stands on, and for
 * what bears an annotation of your own that it stands on; rules add up.
 */
@Limited
@Inherited
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE, ElementType.ANNOTATION_TYPE})
@Repeatable(RateRules.class)
public @interface RateRule {

  /**
   * Calls in any interval of that time. 10 by default; 1 to 10,000, or as {@code limiter.max-count}
   * says.
   */
  long count() default 10;

  /** Length of the interval, in {@link #timeUnit}s. 60 by default; from 1 ms to 366 days. */
  long time() default 60;

  /** Unit of {@link #time}. Seconds by default. */
  TimeUnit timeUnit() default TimeUnit.SECONDS;

  /**
   * Name of the rule in header fields and error bodies: printable ASCII without space, quote or
   * backslash. By default it is made from the numbers, such as {@code 10-per-60s}.
   */
  String name() default "";

  /** Whom this rule counts. By default whom the {@link RateLimiter} does, else the address. */
  LimitType limitType() default LimitType.IP;

  /** Name of the header for {@link LimitType#HEADER}, which it implies. */
  String header() default "";

  /**
   * Whom this rule counts, as an expression over the method's arguments, such as {@code
   * "#{phone}"}; see {@link RateLimiter#subject}.
   */
  String subject() default "";
}
