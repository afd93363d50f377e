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
  TOKEN_BUCKET
}
