// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Limits a method: whom it counts, by which rules, and whether a submission may be repeated.
 *
 * <pre>{@code
 * @Post("/orders")
 * @RateLimiter(
 *     limitType = LimitType.USER_ID,
 *     rules = {@RateRule(count = 10, time = 60), @RateRule(count = 100, time = 3600)},
 *     preventDuplicate = true)
 * Order place(@Body NewOrder order) { ... }
 * }</pre>
 *
 * <p>{@link RateRule}s that stand beside it on the method join its rules and count the same
 * subject. It holds for methods that implement or override the one it stands on.
 */
@Limited
@Inherited
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.METHOD)
public @interface RateLimiter {

  /**
   * What is limited. Methods with the same key share one limit and must have the same rules. By
   * default each method is limited by itself: its class, name and parameter types.
   */
  String key() default "";

  /** Who is counted, unless {@link #subject} says so. The client's address by default. */
  LimitType limitType() default LimitType.IP;

  /**
   * Who is counted, as an expression over the method's arguments that the compiler checks, such as
   * {@code "#{phone}"} or {@code "#{order.customer}"}. Then {@link #limitType} does not count. A
   * call for which it is null or empty is refused as a bad request, never let through.
   */
  String subject() default "";

  /**
   * The rules. None by default: then there are {@link RateRule}s beside, or {@link
   * #preventDuplicate}.
   */
  RateRule[] rules() default {};

  /** What a refused caller is told. By default a sentence with the time to wait. */
  String message() default "";

  /**
   * Name of the policy in logs and configuration, unique in the application. By default the class,
   * method and parameter types.
   */
  String name() default "";

  /** Whether to refuse a submission that was accepted a moment ago. Not by default. */
  boolean preventDuplicate() default false;

  /**
   * How many equal submissions are accepted in which time. One in 5 seconds by default; a rule that
   * is given without a count accepts one.
   */
  RateRule preventDuplicateRule() default @RateRule(count = 1, time = 5);

  /** What makes submissions equal. By default any two of one caller are. */
  DuplicateBy duplicateBy() default DuplicateBy.CALLER;

  /**
   * Whether a submission whose method failed, by an exception or a status of 500 and above, may be
   * made again at once. It may by default.
   */
  boolean releaseOnFailure() default true;
}
