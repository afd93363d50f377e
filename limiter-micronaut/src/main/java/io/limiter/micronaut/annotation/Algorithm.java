// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

/** How a {@link RateRule} counts. */
public enum Algorithm {
  /** Records each call: at most {@code count} units in any interval of {@code time}, exactly. */
  SLIDING_WINDOW_LOG,
  /**
   * Stores two numbers for each subject, whatever the count. It assumes that the calls of the
   * previous window were evenly spread, so any interval admits less than twice the count.
   */
  SLIDING_WINDOW_COUNTER,
  /**
   * Stores one number for each subject. A window begins with a call, or at times fixed by the
   * clock: {@link RateRule#aligned}. An interval that spans two windows may admit twice the count.
   */
  FIXED_WINDOW,
  /**
   * A call takes a token for each unit of its cost; {@link RateRule#refill} tokens are added in
   * each interval of {@code time}, up to {@code count} tokens.
   */
  TOKEN_BUCKET,
  /**
   * Counts calls while they run: at most {@code count} at once, over all instances. Each call holds
   * one concurrency permit, whatever it costs. The permit expires after {@code time}, 30 seconds by
   * default and 1 second to 1 hour, and is renewed while the call runs. If the instance dies, its
   * permits therefore stay taken for at most that time. A method whose result does not show when
   * its calls end, such as a {@code Future}, cannot have this algorithm: the application does not
   * start.
   */
  CONCURRENCY_LIMIT,
  /**
   * Spaces calls evenly: {@code count} of them begin in each interval of {@code time}. Calls that
   * arrive early wait for their turn, at most {@code queue} of them and at most {@code maxWait}
   * each. A method can have at most one rule of this kind.
   */
  LEAKY_BUCKET
}
