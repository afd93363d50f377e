// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

/** Who decided. */
public enum DecidedBy {
  /** The store that the limiter was given. */
  STORE,
  /**
   * Nobody: the store has refused the same call at most a second ago, for longer than since then.
   */
  DENY_CACHE,
  /**
   * Another store, or nobody, because that one did not answer; the verdict gives the {@link
   * FailureReason}.
   */
  FALLBACK,
  /** Nothing was asked: the call is charged nothing, or the limiter is switched off. */
  NONE
}
