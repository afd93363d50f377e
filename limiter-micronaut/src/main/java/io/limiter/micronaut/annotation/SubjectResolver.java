// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import io.micronaut.http.HttpRequest;
import java.util.Optional;

/**
 * Determines who is counted where the other options do not suffice: a tenant, the owner of an API
 * key, a session. {@link RateLimiter#resolver} names a bean of this type.
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
 * <p>It is called for every call, mostly on the request's event loop, so it must not block. An
 * exception that it throws fails the call.
 */
@FunctionalInterface
public interface SubjectResolver {

  /**
   * Returns the subject: any text, which is never stored in plain text. Empty, or an empty text, if
   * the request has no subject: then {@link RateLimiter#anonymous} applies.
   */
  Optional<String> resolve(HttpRequest<?> request);

  /**
   * Returns the subject of a call of a bean outside of any request. Empty by default: such calls
   * fail.
   */
  default Optional<String> resolveOutsideOfRequest() {
    return Optional.empty();
  }
}
