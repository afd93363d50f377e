// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Details of {@link RateLimiter#preventDuplicate}: what makes submissions equal, when one may be
 * repeated, and the response to a duplicate.
 *
 * <pre>{@code
 * @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(key = "#{order.number}"))
 * }</pre>
 */
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({}) // only within a @RateLimiter
public @interface Duplicate {

  /**
   * What makes submissions equal. By default the arguments that the caller provides, which are
   * compared after the body was read. If there are none, or JSON cannot represent one of them, or
   * with {@link RateLimiter#beforeSecurity}, any two submissions of one subject are equal: see
   * {@link DuplicateBy#AUTO}.
   */
  DuplicateBy by() default DuplicateBy.AUTO;

  /**
   * What makes submissions equal, as an expression over the method's arguments, such as {@code
   * "#{order.number}"}, in place of {@link #by}. A call for which it is null or empty is denied as
   * a bad request.
   */
  String key() default "";

  /**
   * Whether a submission whose method failed, by an exception or a status of 500 and above, may be
   * repeated at once. True by default. A submission whose method was never entered may be repeated
   * at once whatever the values of this and {@link #releaseOn}. A method whose result does not show
   * when its calls end, such as a {@code Future}, needs {@code false}; otherwise the application
   * does not start.
   */
  boolean releaseOnFailure() default true;

  /**
   * The statuses after which a submission may be repeated at once, in place of the failures of
   * {@link #releaseOnFailure}: 400 to 599. The status is the one that the client receives. Outside
   * of HTTP an exception counts as 500.
   */
  int[] releaseOn() default {};

  /**
   * For how long a submission is taken by a process that does not renew it: after that the key of a
   * process that has died is free. 1 s to 10 min. The process renews it while the method runs, also
   * beyond the time of {@link RateLimiter#preventDuplicateRule}, for an hour at most if that time
   * is not longer. By default a submission is taken at once for that time, and a repetition is
   * admitted afterwards, also beside a method that still runs. With a claim, the time must be
   * longer than this one, with a count of 1, and the method must show when its calls end.
   */
  String claim() default "";

  /** Status of the response to a duplicate. By default as configured: 409. */
  int status() default 0;

  /**
   * Code by which programs recognize a duplicate. By default as configured: {@code
   * duplicate_submission}.
   */
  String code() default "";

  /** Message for a duplicate. By default {@link RateLimiter#message}, else as configured. */
  String message() default "";
}
