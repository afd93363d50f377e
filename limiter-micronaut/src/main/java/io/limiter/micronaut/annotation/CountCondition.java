// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import org.jspecify.annotations.Nullable;

/**
 * Determines by their answers which calls count. {@link RateLimiter#countIf} names a bean of this
 * type.
 *
 * <pre>{@code
 * @Singleton
 * @Named("misses")
 * class Misses implements CountCondition {
 *   @Override
 *   public boolean counts(int status, @Nullable Object result) {
 *     return result instanceof Answer answer && !answer.cached();
 *   }
 * }
 * }</pre>
 *
 * <p>It is called once for each call that ends, on the thread that has its answer, often an event
 * loop, so it must not block. If it throws, which is logged, the call counts.
 */
@FunctionalInterface
public interface CountCondition {

  /**
   * Whether the call counts. Otherwise its units are given back.
   *
   * @param status the status that the client receives; outside of HTTP 200, or 500 for an exception
   * @param result what the method returned, or the value of its CompletionStage or Mono; null if
   *     there was none, if the method streams, threw or was not entered
   */
  boolean counts(int status, @Nullable Object result);
}
