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
 * Denies a submission that repeats a recently accepted one of the same subject.
 *
 * <pre>{@code
 * @Post("/orders")
 * @PreventDuplicate(within = 10)
 * Order place(@Body NewOrder order) { ... }
 * }</pre>
 *
 * <p>Short for {@code @RateLimiter(preventDuplicate = true)}: on its own it compares the
 * submissions of one client address. Beside the only {@link RateLimiter} of the same place it
 * belongs to that one, and compares the submissions of its subject. For more, such as the response,
 * use a {@code @RateLimiter} with {@link Duplicate}.
 */
@Limited
@Inherited
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE, ElementType.ANNOTATION_TYPE})
public @interface PreventDuplicate {

  /**
   * Time, in {@link #timeUnit}s, in which an equal submission is a duplicate. 5 by default; from 1
   * ms to 366 days.
   */
  long within() default 5;

  /** Unit of {@link #within}. Seconds by default. */
  TimeUnit timeUnit() default TimeUnit.SECONDS;

  /** What makes submissions equal; see {@link Duplicate#by}. */
  DuplicateBy by() default DuplicateBy.AUTO;

  /** What makes submissions equal, as an expression; see {@link Duplicate#key}. */
  String key() default "";
}
