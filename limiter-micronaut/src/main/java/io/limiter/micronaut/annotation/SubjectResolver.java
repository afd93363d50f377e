// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import io.micronaut.http.HttpRequest;
import java.util.Optional;

/**
 * Tells who is counted, where no other way does: a tenant, the owner of an API key, a session. A
 * bean of this type is named by {@link RateLimiter#resolver}.
 *
 * <pre>{@code
 * @Singleton
 * class Tenant implements SubjectResolver {
 *   @Override
 *   public Optional<String> resolve(HttpRequest<?> request) {
 *     return request.getAttribute("tenant", String.class);
 *   }
 * }
 * }</pre>
 *
 * <p>It is asked for every call, mostly on the request's event loop, so it must not wait. What it
 * throws fails the call.
 */
@FunctionalInterface
public interface SubjectResolver {

  /**
   * Who is counted: any text, which is never stored in clear. Empty, or an empty text, if the
   * request does not tell: then {@link RateLimiter#anonymous} says what becomes of it.
   */
  Optional<String> resolve(HttpRequest<?> request);

  /** The same for a call of a bean outside of any request. Nobody by default: such calls fail. */
  default Optional<String> resolveOutsideOfRequest() {
    return Optional.empty();
  }
}
