// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

/**
 * Which calls a {@link RateRule} counts, by their completion. Each call takes its units when it
 * begins, so that concurrent calls cannot exceed a limit. They are refunded when the call ends in a
 * way that is not counted.
 *
 * <p>A call whose completion is unknown, since its client disconnected, its stream was cancelled or
 * its instance died, is counted, unless its method had not begun. A method whose result does not
 * show when its calls end, such as a {@code Future}, can only count {@link #ALL}; with another
 * value the application does not start.
 */
public enum Counts {
  /** All calls. */
  ALL,
  /**
   * Calls that failed: by an exception or a status of 400 and above, or with a status of {@link
   * RateLimiter#failedOn}.
   */
  FAILURES,
  /** Calls that did not fail. */
  SUCCESSES
}
