// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Repeatable;
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
 * <p>{@link RateRule}s that stand beside it in the same place join its rules and count the same
 * subject. Several of them add up: each may have a subject, a key and an answer of its own.
 *
 * <p>On a class it holds for each method by itself, unless it has a {@link #key}: for the routes of
 * a controller, for all methods of other beans. It holds for methods that implement or override the
 * one it stands on, and for what bears an annotation of your own that it stands on; give that
 * {@code @Inherited} if it is to hold for what implements or overrides, too. {@link NoRateLimit}
 * makes an exception.
 */
@Limited
@Inherited
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE, ElementType.ANNOTATION_TYPE})
@Repeatable(RateLimiters.class)
public @interface RateLimiter {

  /**
   * What is limited. Methods with the same key share one limit and must have the same rules. By
   * default each method is limited by itself: its class, name and parameter types.
   */
  String key() default "";

  /** Who is counted, unless another member says so. The client's address by default. */
  LimitType limitType() default LimitType.IP;

  /**
   * Name of the header for {@link LimitType#HEADER}, which it implies. The caller may send it
   * several times; the first counts. Values may have any length, and are never stored in clear.
   */
  String header() default "";

  /**
   * Who is counted, as an expression over the method's arguments that the compiler checks, such as
   * {@code "#{phone}"} or {@code "#{order.customer}"}. Then {@link #limitType} does not count. A
   * call for which it is null or empty is refused as a bad request, never let through.
   */
  String subject() default "";

  /** Who is counted, as a bean of yours tells. None by default. */
  Class<? extends SubjectResolver> resolver() default SubjectResolver.class;

  /**
   * What becomes of a caller whom {@link LimitType#USER_ID}, {@link LimitType#HEADER} or a {@link
   * #resolver} cannot tell. By default as {@code limiter.anonymous} says, which is by address;
   * where there are {@link #anonymousRules} it is by address.
   */
  Anonymous anonymous() default Anonymous.ADDRESS;

  /**
   * The rules for such a caller, in place of {@link #rules} and of the {@link RateRule}s beside. By
   * default he has the same as others.
   */
  RateRule[] anonymousRules() default {};

  /**
   * The rules. None by default: then there are {@link RateRule}s beside, or {@link
   * #preventDuplicate}.
   */
  RateRule[] rules() default {};

  /**
   * What a call takes from each of these rules: a number such as {@code "5"}, or an expression over
   * the arguments that the compiler checks, such as {@code "#{order.items.size()}"}. 1 by default;
   * 1 to 1,000,000. A call for which an expression gives anything else is refused as a bad request.
   * A submission counts once, whatever it costs.
   */
  String cost() default "";

  /**
   * A bean of yours that tells from the result what a call has cost; {@link #cost} is then what it
   * takes at first, an estimate. What was taken too much is given back at its end; what was not
   * enough is taken then, whatever the rules say, so that the next calls wait for it. A call that
   * fails has cost what was estimated. None by default; not for methods that stream.
   */
  Class<? extends ResultCost> resultCost() default ResultCost.class;

  /**
   * The statuses that are failures for rules that count {@link Counts#FAILURES} or {@link
   * Counts#SUCCESSES}, in place of any exception and any status of 400 and above: 400 to 599. The
   * status is the one that the client gets. Outside of HTTP an exception counts as 500.
   */
  int[] failedOn() default {};

  /**
   * Bans for a while whom these rules refuse too often: each subject by itself, never everybody as
   * {@link LimitType#GLOBAL} counts them. None by default; one at most.
   */
  Ban[] ban() default {};

  /**
   * Whether calls are decided before security, so that those that it answers with 401 or 403 count,
   * and a refused one does not reach it: a limit on guessing passwords. Not by default: security
   * comes first. It holds for all limits of the route, which are one decision; none of them can
   * count users then, or need arguments, and a {@link #resolver} sees a request that nobody has
   * looked at. Only for routes that the gate decides.
   */
  boolean beforeSecurity() default false;

  /**
   * Status of the answer to a call that these rules refuse; who is banned is answered as
   * configured. By default as configured: 429.
   */
  int status() default 0;

  /** What programs tell it by. By default as configured: {@code rate_limited}. */
  String code() default "";

  /**
   * What a refused caller is told: a text, or the key of a message in braces, such as {@code
   * "{sms.too-many}"}, which is then looked up in the language of the request. Either may hold
   * placeholders such as {@code {retryAfter}}. By default as configured.
   */
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

  /**
   * What makes submissions equal. By default the arguments that the caller fills, which are
   * compared after the body was read; where there are none, or JSON cannot hold one of them, or
   * with {@link #beforeSecurity}, any two of one caller: see {@link DuplicateBy#AUTO}.
   */
  DuplicateBy duplicateBy() default DuplicateBy.AUTO;

  /**
   * What makes submissions equal, as an expression over the method's arguments, such as {@code
   * "#{order.number}"}, in place of {@link #duplicateBy}. A call for which it is null or empty is
   * refused as a bad request.
   */
  String duplicateKey() default "";

  /**
   * Whether a request without an {@code Idempotency-Key} is refused as a bad request, where that
   * header makes submissions equal. It is by default; else such a request is no duplicate of
   * anything.
   */
  boolean requireIdempotencyKey() default true;

  /**
   * Whether a submission whose method failed, by an exception or a status of 500 and above, may be
   * made again at once. It may by default. A submission whose method was never entered may be made
   * again whatever this and {@link #releaseOn} say. A method whose result does not show when its
   * calls end, such as a {@code Future}, needs {@code false}: else the start stops.
   */
  boolean releaseOnFailure() default true;

  /**
   * The statuses after which a submission may be made again at once, in place of what {@link
   * #releaseOnFailure} calls a failure: 400 to 599. The status is the one that the client gets.
   * Outside of HTTP an exception counts as 500.
   */
  int[] releaseOn() default {};

  /** Status of the answer to a duplicate. By default as configured: 409. */
  int duplicateStatus() default 0;

  /** What programs tell a duplicate by. By default as configured: {@code duplicate_submission}. */
  String duplicateCode() default "";

  /** What the caller is told of a duplicate. By default {@link #message}, else as configured. */
  String duplicateMessage() default "";
}
