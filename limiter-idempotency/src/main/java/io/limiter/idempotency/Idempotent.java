// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.micronaut.annotation.SubjectResolver;
import io.micronaut.aop.Around;
import io.micronaut.context.annotation.Executable;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Runs a route once for each {@code Idempotency-Key} of a caller, and repeats its response.
 *
 * <pre>{@code
 * @Post("/payments")
 * @Idempotent
 * Payment pay(@Body NewPayment payment) { ... }
 * }</pre>
 *
 * <p>A repetition receives the status, the header fields and the body of the first response, byte
 * for byte, with {@code Idempotency-Replayed: true}. It takes nothing from the limits of the route,
 * and receives its response also where they would deny it. A request with another method, path,
 * query or body under a known key is answered 422. A repetition waits while the first request runs,
 * and is answered 409 if that takes too long. A request without a key, or with an invalid one, is
 * answered 400.
 *
 * <p>Only the end of the method ends a submission. If the method throws, or returns a response with
 * a status of {@link #releaseOn}, the key is free. If its response cannot be kept, or has not gone
 * to the client, repetitions are answered 409, and the method does not run again.
 *
 * <p>A key belongs to the user who is logged in, unless {@link #header}, {@link #resolver} or
 * {@link #subject} names another owner. A request without an owner is answered 400, unless {@code
 * limiter.idempotency.anonymous-by-address} is true.
 *
 * <p>On a class it applies to each of its routes. A mistake stops the start.
 */
@Around
@Executable(processOnStartup = true)
@Inherited
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE, ElementType.ANNOTATION_TYPE})
public @interface Idempotent {

  /**
   * For how long a response is kept, from the end of the method. 24 hours by default; 1 s to 366
   * days. Empty: no response is kept; repetitions are answered 409 for 24 hours.
   */
  String retain() default "24h";

  /**
   * For how long a key is taken by a process that does not renew its claim. 30 s by default; 1 s to
   * 10 min. A process renews it each third of this time while the method runs, so this is how long
   * a key remains taken after its process has died.
   */
  String claim() default "30s";

  /**
   * For how long a repetition waits for the end of the first request, before it is answered 409. 2
   * s by default; 0 s to 30 s.
   */
  String maxWait() default "2s";

  /**
   * The statuses of the method's responses that free the key, in place of 401, 403, 408, 409, 425
   * and 429: 400 to 499. A response of 500 and above always frees it, and so does an exception. A
   * status that a filter or an error handler makes does not.
   */
  int[] releaseOn() default {};

  /** Whether a request needs a key; true by default. Without one it is a new submission. */
  boolean required() default true;

  /**
   * Whether the limits of the route decide before the key is looked for, so that they count each
   * request with a key, and may deny it: also a repetition, or another request under a known key.
   * False by default. The gate must decide all limits of the route.
   */
  boolean chargeRepetitions() default false;

  /** The header whose value owns keys, such as {@code X-Api-Key}, in place of the user. */
  String header() default "";

  /** A bean that names the owner of a request's keys, in place of the user. */
  Class<? extends SubjectResolver> resolver() default SubjectResolver.class;

  /**
   * An expression whose value owns keys, in place of the user, such as {@code "#{account}"}. It
   * reads arguments that come from the path, the query, a header field or a cookie and are texts,
   * numbers, enums or the like, since a key is looked for before the body is read. A request that
   * lacks one of them is answered 400.
   */
  String subject() default "";
}
