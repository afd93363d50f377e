// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

/** How a {@link RateRule} counts. */
public enum Algorithm {
  /** Remembers each call: at most {@code count} in any interval of that time, exactly. */
  SLIDING_WINDOW_LOG,
  /**
   * Two numbers for each subject, whatever the count; takes the calls of the window before for
   * evenly spread, so any interval has less than twice the count.
   */
  SLIDING_WINDOW_COUNTER,
  /**
   * One number for each subject. A window begins with a call, or where the clock says: {@link
   * RateRule#aligned}. An interval that spans two windows may have twice the count.
   */
  FIXED_WINDOW,
  /**
   * A call takes a token for each unit of its cost; {@link RateRule#refill} tokens come back in
   * each interval of that time, up to {@code count} of them.
   */
  TOKEN_BUCKET,
  /**
   * Counts calls while they run: at most {@code count} at once, over all instances. A call holds
   * its place under a lease of that time, 30 seconds by default and 1 second to 1 hour, which is
   * renewed while it runs: so long the place stays taken at most if its instance dies. It takes one
   * place, whatever it costs. Stops the start on a method whose result does not show when its calls
   * end, such as a {@code Future}.
   */
  CONCURRENCY_LIMIT,
  /**
   * Spaces calls evenly: {@code count} of them begin in each interval of that time, and those that
   * come early wait for their turn, as many as the {@code queue} has room for, {@code maxWait} at
   * most. At most one of them in what limits a method.
   */
  LEAKY_BUCKET
}
