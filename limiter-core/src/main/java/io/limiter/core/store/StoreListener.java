// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.store;

import io.limiter.core.FailureReason;
import org.jspecify.annotations.Nullable;

/**
 * Receives how long a store took for its decisions. Runs on threads of the store, event loops among
 * them: it must not block or throw.
 */
@FunctionalInterface
public interface StoreListener {

  /**
   * The store has decided, or has failed.
   *
   * @param nanos the time from the call until then, in nanoseconds
   * @param failure why the store did not decide; null if it did
   */
  void ended(long nanos, @Nullable FailureReason failure);
}
