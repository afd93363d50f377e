// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.concurrent.TimeUnit;

/**
 * Limits how many calls of a subject run at the same time, over all instances.
 *
 * <pre>{@code
 * @Get("/report")
 * @ConcurrencyLimit(3)
 * Report report() { ... }
 * }</pre>
 *
 * <p>Short for {@code @RateRule(count = 3, algorithm = Algorithm.CONCURRENCY_LIMIT)}: see {@link
 * Algorithm#CONCURRENCY_LIMIT}. It stacks with {@link RateRule}s in the same place, and counts the
 * subject that they count.
 */
@Limited
@Inherited
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE, ElementType.ANNOTATION_TYPE})
public @interface ConcurrencyLimit {

  /** The most calls at the same time: 1 to 10,000. */
  long value();

  /**
   * Time, in {@link #timeUnit}s, after which the permit of a call expires if its instance dies; it
   * is renewed while the call runs. 30 seconds by default; from 1 second to 1 hour.
   */
  long time() default 30;

  /** Unit of {@link #time}. Seconds by default. */
  TimeUnit timeUnit() default TimeUnit.SECONDS;

  /**
   * Who is counted. By default the subject of the {@link RateLimiter} in the same place, else the
   * address.
   */
  LimitType limitType() default LimitType.IP;

  /** Name of the header for {@link LimitType#HEADER}, which it implies. */
  String header() default "";

  /**
   * Who is counted, as an expression over the method's arguments; see {@link RateLimiter#subject}.
   */
  String subject() default "";
}
