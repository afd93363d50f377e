// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

/** Who decided. */
public enum DecidedBy {
  /** The store that the limiter uses. */
  STORE,
  /**
   * The deny cache: the store denied the same call within the last second, and its retry-after has
   * not passed yet.
   */
  DENY_CACHE,
  /** This instance, by units that the store has granted to it in advance: a lease. */
  LEASE,
  /**
   * The fallback, because the store did not answer: another store, or a fixed answer. The verdict
   * gives the {@link FailureReason}.
   */
  FALLBACK,
  /** No store was asked: the call costs nothing, or the limiter is switched off. */
  NONE
}
