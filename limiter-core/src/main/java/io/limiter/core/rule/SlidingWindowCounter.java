// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import java.time.Duration;

/**
 * Sliding window counter: two numbers for each subject, whatever the count. Time is cut into
 * windows; of the units of the previous one, as many are taken for still inside as there is left of
 * it, as if they had been spread evenly.
 *
 * <pre>
 * used = current + ceil(previous × (time left of the current window) / window)
 * </pre>
 *
 * <p>An approximation: where the units of the previous window all came at its end, an interval of
 * one window may hold up to twice the count, less one; where they all came at its start, a call may
 * be refused that the exact log would admit. Traffic that is spread evenly is counted right. The
 * method is that of Cloudflare ("How we built rate limiting capable of scaling to millions of
 * domains", 2017).
 *
 * @param name the rule's name; {@link #of(long, Duration)} makes one from the numbers
 * @param count the most units in a window, 1 to {@value Rule#MAX_COUNT}
 * @param window the length of the window, 1 ms to 366 days, in whole microseconds
 */
public record SlidingWindowCounter(String name, long count, Duration window) implements Rule {

  public SlidingWindowCounter {
    Rule.requireNumbers(name, count, MAX_COUNT, window);
  }

  /** A rule named after its numbers, such as {@code 10-per-60s}. */
  public static SlidingWindowCounter of(long count, Duration window) {
    return new SlidingWindowCounter(Rule.nameOf(count, window), count, window);
  }

  @Override
  public SlidingWindowCounter withName(String other) {
    return new SlidingWindowCounter(other, count, window);
  }

  @Override
  public SlidingWindowCounter withCount(long other) {
    return new SlidingWindowCounter(name, other, window);
  }
}
