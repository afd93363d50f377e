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
   * #refill} tokens are added; for a concurrency limit, the time after which a permit expires. 60
   * by default, and 30 seconds for a permit; from 1 ms to 366 days, and 1 second to 1 hour for a
   * permit.
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

  /** How calls are counted. By default exactly, with a log of calls. */
  Algorithm algorithm() default Algorithm.SLIDING_WINDOW_LOG;

  /**
   * Which calls are counted, by their completion. All of them by default; calls in flight are
   * always counted.
   */
  Counts counts() default Counts.ALL;

  /**
   * Whether windows of {@link Algorithm#FIXED_WINDOW} begin at full seconds, minutes, hours or days
   * rather than with a call. Not by default. A window that does not divide a day needs an {@link
   * #anchor}; none may be longer than 7 days.
   */
  boolean aligned() default false;

  /**
   * Time zone of aligned windows, such as {@code Europe/Berlin}; implies {@link #aligned}. By
   * default as {@code limiter.zone} configures, which itself defaults to UTC.
   */
  String zone() default "";

  /**
   * A local time at which some aligned window begins, such as {@code 2024-01-01T00:00} for weeks
   * from Monday; implies {@link #aligned}. By default any midnight.
   */
  String anchor() default "";

  /**
   * Tokens that are added to a {@link Algorithm#TOKEN_BUCKET} in each interval of {@link #time}. By
   * default {@link #count}.
   */
  long refill() default 0;

  /**
   * Whether tokens are added one by one, evenly over the interval, rather than all at its end. True
   * by default.
   */
  boolean greedy() default true;

  /** Tokens that a subject has at its first call. By default a full bucket. */
  long initial() default -1;

  /**
   * Number of calls that may wait for their turn under a {@link Algorithm#LEAKY_BUCKET}: 1 to
   * 10,000. There is no default, since each waiting call keeps a client's connection open.
   */
  int queue() default 0;

  /**
   * The longest that a call may wait for its turn, in {@link #timeUnit}s: up to 5 minutes. A call
   * that could not begin in time is denied at once. By default the time that the last call in the
   * {@link #queue} waits.
   */
  long maxWait() default 0;

  /**
   * Whether calls begin in the order of their arrival. If true, the turn of a client that
   * disconnected passes unused; if false, the next call takes it and may overtake calls that wait.
   * True by default.
   */
  boolean fair() default true;

  /** An algorithm of your own, by its bean, in place of {@link #algorithm}. None by default. */
  Class<? extends CustomAlgorithm> custom() default CustomAlgorithm.class;

  /** Numbers for that algorithm, at most 8. None by default. */
  double[] parameters() default {};

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
