// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

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
 * @RateRule(count = 100)
 * Payment pay(@Body NewPayment payment) { ... }
 * }</pre>
 *
 * <p>A repetition receives the status, the body and some header fields of the first response, byte
 * for byte, with {@code Idempotency-Replayed: true}. It takes nothing from the rules, and receives
 * its response also where they would deny it. A request with another path, query or body under a
 * known key is answered 422. A repetition waits while the first one is processed, and is answered
 * 409 if that takes too long. A request without a key, or with an invalid one, is answered 400.
 *
 * <p>A response is kept unless the route has thrown an exception, a limit has denied the call, or
 * the status is 401, 403, 408, 409, 425, 429, or 500 and above: then the submission may be made
 * again. Without Redis, responses are kept by each instance for itself; while Redis is away, calls
 * are denied with 503, unless the policy has another fallback.
 *
 * <p>Short for {@code @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(replay =
 * "24h"))}: on its own, each user has keys of their own, and else each client address. Beside the
 * only {@link RateLimiter} of the same place it belongs to that one, and to the subject that it
 * names.
 */
@Limited
@Inherited
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.TYPE, ElementType.ANNOTATION_TYPE})
public @interface Idempotent {

  /** For how long a response is kept. 24 hours by default; 1 s to 366 days. */
  String retain() default "24h";

  /** See {@link Duplicate#claim}. 30 s by default. */
  String claim() default "";

  /** For how long a repetition waits for the first response. 2 s by default; 0 s to 30 s. */
  String maxWait() default "";

  /**
   * The statuses of responses that are not kept, in place of 401, 403, 408, 409, 425 and 429: 400
   * to 599. A response of 500 and above is never kept.
   */
  int[] releaseOn() default {};

  /** See {@link Duplicate#chargeRepetitions}. */
  boolean chargeRepetitions() default false;

  /** Whether a request needs an {@code Idempotency-Key}. Without one it is a new submission. */
  boolean required() default true;
}
