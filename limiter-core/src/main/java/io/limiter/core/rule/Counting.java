// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

/**
 * Which calls the rules of a {@link RuleStack} count. Nobody knows when a call begins how it will
 * end, so each takes its units at the start, whatever is counted, and {@code Reservation.settle}
 * gives them back if its ending does not count. Therefore a limit of 3 failures lets 3 calls run at
 * once that may fail: a hundred parallel ones cannot fail a hundred times.
 *
 * <p>Units that are never settled, since the instance that ran the call died or the store was away
 * when it ended, count as if the ending did. They go as all units do: when they leave the window of
 * their rule. So what a lost call can cost its subject is one call for one window.
 */
public enum Counting {
  /** Every call that is admitted. */
  ALL,
  /** Only those that fail. */
  FAILURES,
  /** Only those that succeed. */
  SUCCESSES
}
