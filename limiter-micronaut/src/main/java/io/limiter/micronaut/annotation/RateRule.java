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
 * One rule: at most {@link #count} calls in any interval of {@link #time}, or as its {@link
 * #algorithm} counts. Several rules form a stack: a call is admitted only if all of them admit it.
 *
 * <pre>{@code
 * @Post("/sms")
 * @RateRule(count = 1, time = 60)
 * @RateRule(count = 10, time = 1, timeUnit = TimeUnit.HOURS)
 * @RateRule(count = 1000, time = 1, limitType = LimitType.GLOBAL)
 * HttpResponse<?> sendCode(String phone) { ... }
 * }</pre>
 *
 * <p>On its own it counts each client address. Inside {@link RateLimiter#rules}, or beside the only
 * {@link RateLimiter} of a method, it counts the subject of that annotation. A rule may also name
 * its own subject.
 *
 * <p>On a class it applies to each method separately: to the routes of a controller, and to all
 * methods of any other bean. It applies to methods that implement or override the annotated one. As
 * a meta-annotation it applies to whatever your own annotation is on. Rules add up.
 */
@Limited
@Inherited
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE, ElementType.ANNOTATION_TYPE})
@Repeatable(RateRules.class)
public @interface RateRule {

  /**
   * Calls in any interval of {@link #time}; for a token bucket, its capacity in tokens; for a
   * concurrency limit, the number of concurrent calls. 10 by default; 1 to 10,000, or as {@code
   * limiter.max-count} configures; 1 to 1,000,000,000 for any algorithm except the exact log and
   * the concurrency limit.
   */
  long count() default 10;

  /**
   * Length of the interval, in {@link #timeUnit}s; for a token bucket, the interval in which {@link
   * TokenBucket#refill} tokens are added; for a concurrency limit, the time after which a permit
   * expires. 60 by default, and 30 seconds for a permit; from 1 ms to 366 days, and 1 second to 1
   * hour for a permit.
   */
  long time() default 60;

  /** Unit of {@link #time}. Seconds by default. */
  TimeUnit timeUnit() default TimeUnit.SECONDS;

  /**
   * Name of the rule in header fields and error bodies: printable ASCII without space, quote or
   * backslash. By default it is derived from the numbers, such as {@code 10-per-60s}, or {@code
   * 20-at-5-per-1s} for a bucket of 20 tokens that gains 5 each second, {@code 3-in-flight} for a
   * concurrency limit, or {@code 2-per-1s-queue-10} for a leaky bucket.
   */
  String name() default "";

  /**
   * How calls are counted. By default exactly, with a log of calls. An algorithm with parameters is
   * set by a member of its own: {@link #fixedWindow}, {@link #tokenBucket}, {@link #leakyBucket} or
   * {@link #custom}; then this member is not written.
   */
  Algorithm algorithm() default Algorithm.SLIDING_WINDOW_LOG;

  /**
   * Which calls are counted, by their completion. All of them by default; calls in flight are
   * always counted.
   */
  Counts counts() default Counts.ALL;

  /** Windows that begin at times fixed by the clock. One at most; none by default. */
  FixedWindow[] fixedWindow() default {};

  /** A bucket of tokens, in place of {@link #algorithm}. One at most; none by default. */
  TokenBucket[] tokenBucket() default {};

  /** Calls wait for their turn, in place of {@link #algorithm}. One at most; none by default. */
  LeakyBucket[] leakyBucket() default {};

  /**
   * An algorithm of the application, in place of {@link #algorithm}. One at most; none by default.
   */
  Custom[] custom() default {};

  /**
   * Who is counted by this rule. By default the subject of the {@link RateLimiter}, else the
   * address.
   */
  LimitType limitType() default LimitType.IP;

  /** Name of the header for {@link LimitType#HEADER}, which it implies. */
  String header() default "";

  /**
   * Who is counted by this rule, as an expression over the method's arguments, such as {@code
   * "#{phone}"}; see {@link RateLimiter#subject}.
   */
  String subject() default "";
}
