// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

/**
 * Which calls the rules of a {@link RuleStack} count. The outcome of a call is unknown when it
 * begins, so every call takes its units at the start, and {@code Reservation.settle} gives them
 * back if its completion does not count. Therefore a limit of 3 failures admits at most 3 calls
 * that run at once and may fail: a hundred parallel calls cannot fail a hundred times.
 *
 * <p>Units of calls that are never settled, because the instance died or the store was away, count
 * as if the completion counted. They expire like all units, when they leave the window of their
 * rule. So a lost call costs its subject one call for one window.
 */
public enum Counting {
  /** Every admitted call. */
  ALL,
  /** Only calls that fail. */
  FAILURES,
  /** Only calls that succeed. */
  SUCCESSES
}
