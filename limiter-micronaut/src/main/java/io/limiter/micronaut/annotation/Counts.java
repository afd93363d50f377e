// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

/**
 * Which calls a {@link RateRule} counts, by how they have ended. Each takes its units when it
 * begins, so that no number of calls at once gets past a limit, and gives them back at its end if
 * that does not count.
 *
 * <p>A call whose end nobody knows, since its caller went away, its stream was cancelled or its
 * instance died, counts, unless its method had not begun. A method whose result does not show when
 * its calls end, such as a {@code Future}, can only count {@link #ALL}: others stop the start.
 */
public enum Counts {
  /** All of them. */
  ALL,
  /**
   * Those that failed: by an exception, or a status of 400 and above; or as {@link
   * RateLimiter#failedOn} says.
   */
  FAILURES,
  /** Those that did not fail. */
  SUCCESSES
}
