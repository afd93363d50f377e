// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import io.limiter.core.rule.CustomAlgorithm;
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
 * #algorithm} counts. Several of them stack, and a call passes only if all of them admit it.
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
   * Calls in any interval of that time; of a token bucket, the tokens that it holds; of a
   * concurrency limit, the calls at once. 10 by default; 1 to 10,000, or as {@code
   * limiter.max-count} says; 1 to 1,000,000,000 for any algorithm but the exact log and the
   * concurrency limit.
   */
  long count() default 10;

  /**
   * Length of the interval, in {@link #timeUnit}s; of a token bucket, that in which {@link #refill}
   * tokens come back; of a concurrency limit, the lease. 60 by default, and 30 seconds for a lease;
   * from 1 ms to 366 days, and 1 second to 1 hour for a lease.
   */
  long time() default 60;

  /** Unit of {@link #time}. Seconds by default. */
  TimeUnit timeUnit() default TimeUnit.SECONDS;

  /**
   * Name of the rule in header fields and error bodies: printable ASCII without space, quote or
   * backslash. By default it is made from the numbers, such as {@code 10-per-60s}, or {@code
   * 20-at-5-per-1s} for a bucket of 20 tokens of which 5 come back each second, {@code 3-in-flight}
   * for a concurrency limit, or {@code 2-per-1s-queue-10} for a leaky bucket.
   */
  String name() default "";

  /** How it counts. Exactly, by a log of calls, by default. */
  Algorithm algorithm() default Algorithm.SLIDING_WINDOW_LOG;

  /**
   * Which calls it counts, by how they have ended. All of them by default, as those in flight
   * always are.
   */
  Counts counts() default Counts.ALL;

  /**
   * Whether windows of {@link Algorithm#FIXED_WINDOW} begin at full seconds, minutes, hours or days
   * rather than with a call. Not by default. A window that does not divide a day needs an {@link
   * #anchor}; none may be longer than 7 days.
   */
  boolean aligned() default false;

  /**
   * Whose clock aligned windows begin by, such as {@code Europe/Berlin}; implies {@link #aligned}.
   * By default as {@code limiter.zone} says, which is UTC.
   */
  String zone() default "";

  /**
   * A local time at which some aligned window begins, such as {@code 2024-01-01T00:00} for weeks
   * from Monday; implies {@link #aligned}. By default any midnight.
   */
  String anchor() default "";

  /**
   * Tokens that come back to a {@link Algorithm#TOKEN_BUCKET} in each interval of {@link #time}. By
   * default as many as {@link #count}.
   */
  long refill() default 0;

  /**
   * Whether tokens come back one by one, evenly over the interval, rather than all at its end. One
   * by one by default.
   */
  boolean greedy() default true;

  /** Tokens that a subject has at its first call. By default a full bucket. */
  long initial() default -1;

  /**
   * Calls that may wait for their turn under a {@link Algorithm#LEAKY_BUCKET}: 1 to 10,000. There
   * is no default, since each of them holds a client's line.
   */
  int queue() default 0;

  /**
   * The longest that a call may have to wait for its turn, in {@link #timeUnit}s: up to 5 minutes.
   * A call that could not begin in time is refused at once. By default as long as the last in the
   * {@link #queue} waits.
   */
  long maxWait() default 0;

  /**
   * Whether calls begin in the order in which they came: then the turn of a caller who went away
   * passes unused. Else the next call takes it, and may overtake those that wait. In order by
   * default.
   */
  boolean fair() default true;

  /** An algorithm of your own, by its bean, in place of {@link #algorithm}. None by default. */
  Class<? extends CustomAlgorithm> custom() default CustomAlgorithm.class;

  /** Numbers for that algorithm, at most 8. None by default. */
  double[] parameters() default {};

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
