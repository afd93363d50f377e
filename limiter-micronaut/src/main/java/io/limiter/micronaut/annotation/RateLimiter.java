// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import io.micronaut.context.annotation.AnnotationExpressionContext;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Limits a method: who is counted, by which rules, and whether a submission may be repeated.
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
 * <p>{@link RateRule}s in the same place are added to its rules and count the same subject. Several
 * {@code RateLimiter}s add up: each may have its own subject, key and error response.
 *
 * <p>On a class it applies to each method separately, unless it has a {@link #key}: to the routes
 * of a controller, and to all methods of any other bean. It applies to methods that implement or
 * override the annotated one. As a meta-annotation it applies to whatever your own annotation is
 * on; make that annotation {@code @Inherited} if it is to apply to implementing and overriding
 * methods, too. {@link NoRateLimit} makes an exception.
 */
@Limited
@Inherited
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE, ElementType.ANNOTATION_TYPE})
@Repeatable(RateLimiter.List.class)
public @interface RateLimiter {

  /**
   * Name of the policy in logs, configuration and code, such as {@code "login"}. Several methods
   * may have the same one; each is limited separately, unless there is a {@link #key}. By default
   * the class, method and parameter types.
   */
  String value() default "";

  /**
   * The limit key: what is limited. Methods with the same key share one limit and must have the
   * same rules. By default each method is limited separately: its class, name and parameter types.
   */
  String key() default "";

  /** Who is counted, unless another member specifies it. The client's address by default. */
  LimitType limitType() default LimitType.IP;

  /**
   * Name of the header for {@link LimitType#HEADER}, which it implies. With {@link LimitType#IP}
   * its value is an address, counted like that of a client. A request with several lines of the
   * header is a bad request: one of them may be a client's, which would choose who is counted.
   * Values may have any length, and are never stored in plain text.
   */
  String header() default "";

  /**
   * Who is counted, as an expression over the method's arguments that the compiler checks, such as
   * {@code "#{phone}"} or {@code "#{order.customer}"}. Then {@link #limitType} has no effect. A
   * call for which it is null or empty is denied as a bad request, never admitted.
   */
  String subject() default "";

  /** A bean of yours that returns who is counted. None by default. */
  Class<? extends SubjectResolver> resolver() default SubjectResolver.class;

  /**
   * How a call is limited if {@link LimitType#USER_ID}, {@link LimitType#HEADER} or a {@link
   * #resolver} gives no subject. By default as {@code limiter.anonymous} configures, which itself
   * defaults to the address. With {@link #anonymousRules} such calls are counted by address.
   */
  Anonymous anonymous() default Anonymous.ADDRESS;

  /**
   * The rules for such calls, in place of {@link #rules} and of the {@link RateRule}s in the same
   * place. By default the same rules apply.
   */
  RateRule[] anonymousRules() default {};

  /**
   * The rules. None by default: then {@link RateRule}s in the same place or {@link
   * #preventDuplicate} are required.
   */
  RateRule[] rules() default {};

  /**
   * Rules on trial: what they would deny of the calls that {@link #rules} admit is counted, and
   * nothing is denied. They have a state of their own. None by default.
   */
  RateRule[] trial() default {};

  /**
   * Which calls are limited: an expression over the arguments, checked by the compiler, that is
   * true for those calls, such as {@code "#{!order.draft}"}; or the name of a bean of type {@link
   * LimitCondition}. All by default. Other calls are neither counted nor denied, nor compared with
   * others by {@link #preventDuplicate}. If the condition throws, the call is limited. Annotations
   * with different conditions count separately, unless both have a {@link #key}.
   */
  String condition() default "";

  /**
   * What a call takes from each of these rules: a number such as {@code "5"}, or an expression over
   * the arguments that the compiler checks, such as {@code "#{order.items.size()}"}. 1 by default;
   * 1 to 1,000,000,000. A call for which an expression gives anything else is denied as a bad
   * request. The duplicate guard counts a submission once, whatever it costs.
   */
  String cost() default "";

  /**
   * A bean of yours that computes the cost of a call from its result; {@link #cost} is then an
   * estimate, which the call takes at first. When the call ends, units taken in excess are
   * refunded, and missing units are taken even beyond the rules' limits, so that later calls wait
   * for them. For a call that fails the estimate stays. None by default.
   *
   * <p>For a method that streams, the bean computes the cost of each item. The stream takes the
   * estimate first and further units in steps while it runs, and gives back at its end what it has
   * not sent: see {@link #stream}.
   */
  Class<? extends ResultCost> resultCost() default ResultCost.class;

  /**
   * How a method that streams takes the units of its {@link #resultCost}. One at most; by default
   * in steps of the {@link #cost}, to the end of the stream. No effect on other methods.
   */
  StreamBudget[] stream() default {};

  /**
   * The statuses that are failures for rules that count {@link Counts#FAILURES} or {@link
   * Counts#SUCCESSES}, in place of any exception and any status of 400 and above: 400 to 599. The
   * status is the one that the client receives. Outside of HTTP an exception counts as 500.
   */
  int[] failedOn() default {};

  /**
   * Which calls count: an expression over the answer and the arguments, checked by the compiler,
   * that is true for those calls, such as {@code "#{status == 404}"}; or the name of a bean of type
   * {@link CountCondition}. In an expression {@code status} is the status that the client receives,
   * outside of HTTP 200 or 500, and {@code result} what the method returned, null where it streams,
   * threw or was not entered. All by default. Each call takes its units when it begins, and gives
   * them back when it ends and does not count. If the expression or the bean throws, or the end is
   * not seen, the call counts. It takes the place of {@link RateRule#counts} and of {@link
   * #failedOn} for all rules of this annotation but concurrency limits.
   */
  @AnnotationExpressionContext(CallAnswer.class)
  String countIf() default "";

  /**
   * Bans a subject for some time after these rules have denied it too often. Each subject is banned
   * separately; the one subject of {@link LimitType#GLOBAL} is never banned. None by default; one
   * at most.
   */
  Ban[] ban() default {};

  /**
   * Whether calls are decided before security. Calls that security answers with 401 or 403 are then
   * counted, and denied calls do not reach it: a limit on guessing passwords. Not by default:
   * security comes first. It applies to all limits of the route, which are one decision. None of
   * them can then count users or use arguments, and a {@link #resolver} receives a request that was
   * not authenticated. Only for routes that the gate decides.
   */
  boolean beforeSecurity() default false;

  /**
   * Whether the rules that need only the request are decided before the body is read, although
   * other limits of the route need its arguments. Requests with a broken body are then counted by
   * these rules, and get 429 once they are over. By default all limits of a call are one decision,
   * after the arguments are bound. With it a call is two decisions, each all or nothing, and so two
   * commands to the store: if the second one denies the call, the units of the first are given
   * back. Rules that make calls wait, limit calls in flight, or count by outcome or by the result
   * belong to the second. Only for routes that the gate decides. No effect where no limit of the
   * route needs the arguments.
   */
  boolean early() default false;

  /**
   * For how long an instance may take units of a subject in advance, such as {@code "100ms"}: 10 ms
   * to 10 s. It then spends them without Redis, so that a subject with thousands of calls a second
   * costs few commands. No rule ever admits more than its count. Units that are neither spent nor
   * given back count to the end of their window, so a limit that bites may admit less. By default
   * Redis decides each call. Not for rules that make calls wait, limit calls in flight, count by
   * outcome, or have an algorithm of their own. No effect on observed rules and in memory.
   */
  String lease() default "";

  /**
   * The share of what a rule admits from which on a subject is near its limit: above 0 to 1, such
   * as {@code 0.8}. Each instance then publishes an event and counts it, once for each subject,
   * rule and period, and verdicts show it. It denies nothing. None by default. No effect on
   * observed rules.
   */
  double warnAt() default 0;

  /**
   * Status of the response to a call that these rules deny; for banned subjects the configured
   * status applies. By default as configured: 429.
   */
  int status() default 0;

  /**
   * Code by which programs recognize the denial. By default as configured: {@code rate_limited}.
   */
  String code() default "";

  /**
   * Message of a denial: a text, or the key of a message in braces, such as {@code
   * "{sms.too-many}"}, which is then looked up in the language of the request. Either may contain
   * placeholders such as {@code {retryAfter}}. By default as configured.
   */
  String message() default "";

  /** Whether to deny a submission that repeats a recently accepted one. Not by default. */
  boolean preventDuplicate() default false;

  /**
   * How many equal submissions are accepted in what time. One in 5 seconds by default; a rule
   * without a count accepts one.
   */
  RateRule preventDuplicateRule() default @RateRule(count = 1, time = 5);

  /**
   * Details of {@link #preventDuplicate}: what makes submissions equal, and the response to a
   * duplicate. One at most; none by default.
   */
  Duplicate[] duplicate() default {};

  /** Container of several {@link RateLimiter}s on one element, generated by the compiler. */
  @Inherited
  @Documented
  @Retention(RetentionPolicy.RUNTIME)
  @Target({ElementType.METHOD, ElementType.TYPE, ElementType.ANNOTATION_TYPE})
  @interface List {

    /** The limits. */
    RateLimiter[] value();
  }
}
