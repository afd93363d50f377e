// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import org.jspecify.annotations.Nullable;

/**
 * Tells what a call has cost, once its result is there: rows, bytes. A bean of this type is named
 * by {@link RateLimiter#resultCost}.
 *
 * <pre>{@code
 * @Singleton
 * class Rows implements ResultCost {
 *   @Override
 *   public int of(@Nullable Object result) {
 *     return result instanceof List<?> rows ? rows.size() : 0;
 *   }
 * }
 * }</pre>
 *
 * <p>It is asked on the thread that has the result, which may be an event loop, so it must not
 * wait. Where it throws, or gives no number from 0 to 1,000,000, the estimate stays.
 */
@FunctionalInterface
public interface ResultCost {

  /**
   * The units that the call has cost, 0 to 1,000,000.
   *
   * @param result what the method has returned, or what its CompletionStage or Mono gave; null if
   *     that was nothing
   */
  int of(@Nullable Object result);
}
