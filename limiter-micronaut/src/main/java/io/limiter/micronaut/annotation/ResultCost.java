// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import org.jspecify.annotations.Nullable;

/**
 * Computes the cost of a call from its result, for example in rows or bytes. {@link
 * RateLimiter#resultCost} names a bean of this type.
 *
 * <pre>{@code
 * @Singleton
 * class Rows implements ResultCost {
 *   @Override
 *   public long of(@Nullable Object result) {
 *     return result instanceof List<?> rows ? rows.size() : 0;
 *   }
 * }
 * }</pre>
 *
 * <p>It is called on the thread that has the result, which may be an event loop, so it must not
 * block. If it throws, the estimate stays, and an item of a stream costs 1. A number outside of 0
 * to 1,000,000,000 counts as the nearest of these, with an error in the log.
 */
@FunctionalInterface
public interface ResultCost {

  /**
   * The units that the call, or one item of its stream, has cost, 0 to 1,000,000,000.
   *
   * @param result what the method returned, the value of its CompletionStage or Mono, or an item of
   *     its stream; null if there was none
   */
  long of(@Nullable Object result);
}
