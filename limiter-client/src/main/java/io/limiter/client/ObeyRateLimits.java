// SPDX-License-Identifier: Apache-2.0
package io.limiter.client;

import io.micronaut.http.annotation.FilterMatcher;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Makes a declarative client obey the limits that a server states in its responses: the field
 * {@code Retry-After} of a 429, 503 or 403, {@code RateLimit} with nothing remaining, and their
 * older forms. Until that time, and a random time more by {@code limiter.client.jitter}, further
 * calls to the server wait, without a thread, for {@code limiter.client.max-wait} at most; a call
 * that would wait longer fails with {@link ServerRateLimitException} and is not sent.
 *
 * <pre>{@code
 * @ObeyRateLimits
 * @Client("https://api.example.com")
 * interface Catalogue {
 *   @Get("/items")
 *   Publisher<Item> items();
 * }
 * }</pre>
 *
 * <p>Calls are never repeated: a caller that receives a 429 keeps it. All clients with this
 * annotation share the state of a server, which is one service id, or one scheme, host and port.
 * Each instance of the application knows only the responses that it received itself.
 */
@Documented
@FilterMatcher
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE, ElementType.PARAMETER, ElementType.FIELD})
public @interface ObeyRateLimits {}
