// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import io.limiter.core.Verdict;
import org.jspecify.annotations.Nullable;

/**
 * Makes the last item of streams that {@link StreamEnd#CUT} ends. A bean of this type applies to
 * all methods that stream such items.
 *
 * <pre>{@code
 * @Singleton
 * class OutOfTokens implements BudgetEnd<Event<String>> {
 *   @Override
 *   public Event<String> last(Verdict denied) {
 *     return Event.of("{\"finish_reason\":\"budget\"}");
 *   }
 * }
 * }</pre>
 *
 * <p>It is called on the thread that streams, often an event loop, so it must not block. If it
 * throws, which is logged, the stream ends without such an item.
 *
 * @param <T> the type of the items
 */
@FunctionalInterface
public interface BudgetEnd<T> {

  /**
   * The last item, which costs nothing.
   *
   * @param denied the verdict on the units that the stream needed next
   * @return null for none
   */
  @Nullable T last(Verdict denied);
}
