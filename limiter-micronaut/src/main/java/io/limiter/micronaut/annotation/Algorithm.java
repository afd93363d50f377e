// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

/**
 * How a {@link RateRule} counts, where the algorithm has no parameters. Those that have some are
 * members of the rule: {@link RateRule#fixedWindow}, {@link RateRule#tokenBucket}, {@link
 * RateRule#leakyBucket}, {@link RateRule#custom}.
 */
public enum Algorithm {
  /** Records each call: at most {@code count} units in any interval of {@code time}, exactly. */
  SLIDING_WINDOW_LOG,
  /**
   * Stores two numbers for each subject, whatever the count. It assumes that the calls of the
   * previous window were evenly spread, so any interval admits less than twice the count.
   */
  SLIDING_WINDOW_COUNTER,
  /**
   * Stores one number for each subject. A window begins with a call; those that begin at times
   * fixed by the clock are {@link RateRule#fixedWindow}. An interval that spans two windows may
   * admit twice the count.
   */
  FIXED_WINDOW,
  /**
   * A call takes a token for each unit of its cost from a bucket of {@code count} tokens, which
   * fills evenly in {@code time}. Other refills are {@link RateRule#tokenBucket}.
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
  CONCURRENCY_LIMIT
}
