// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.micronaut.http.annotation.FilterMatcher;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Makes a declarative client send an {@code Idempotency-Key}, so that a server which understands it
 * processes a call once, however often it is attempted.
 *
 * <pre>{@code
 * @SendIdempotencyKey
 * @Client("https://api.example.com")
 * interface Payments {
 *   @Post("/payments")
 *   @Retryable(includes = HttpClientException.class)
 *   Payment pay(@Body NewPayment payment);
 * }
 * }</pre>
 *
 * <p>The key is a random UUID: one for each call of a method of the client, and the same for all
 * attempts that {@code @Retryable} or {@code @CircuitBreaker} on that method make of it. A request
 * that has a key keeps it. Only the methods of {@code limiter.idempotency.client-methods} have
 * keys: POST and PATCH by default.
 *
 * <p>A retry around the client, such as {@code @Retryable} on a method that calls it, makes new
 * calls, which have new keys: give the client's method a parameter
 * {@code @Header("Idempotency-Key")} for those.
 */
@Documented
@FilterMatcher
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
public @interface SendIdempotencyKey {}
