// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import io.micronaut.http.HttpRequest;

/**
 * Determines which calls a policy limits. {@link RateLimiter#condition} names a bean of this type.
 *
 * <pre>{@code
 * @Singleton
 * @Named("outsiders")
 * class Outsiders implements LimitCondition {
 *   @Override
 *   public boolean limits(HttpRequest<?> request) {
 *     return !request.getHeaders().contains("X-Internal");
 *   }
 * }
 * }</pre>
 *
 * <p>It is called for every call, mostly on the request's event loop, so it must not block. If it
 * throws, which is logged, the call is limited.
 */
@FunctionalInterface
public interface LimitCondition {

  /** Whether the policy limits this request. Otherwise the call is neither counted nor denied. */
  boolean limits(HttpRequest<?> request);

  /** Whether the policy limits a call of a bean outside of any request; yes by default. */
  default boolean limitsOutsideOfRequest() {
    return true;
  }
}
