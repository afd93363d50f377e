// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import java.time.Duration;

/**
 * Sliding window counter: two numbers for each subject, whatever the count. Time is divided into
 * windows. The units of the previous window are assumed to be spread evenly, so they count in
 * proportion to the time left of the current window.
 *
 * <pre>
 * used = current + ceil(previous × (time left of the current window) / window)
 * </pre>
 *
 * <p>This is an approximation. If all units of the previous window came at its end, an interval of
 * one window's length may contain up to twice the count, less one. If they all came at its start, a
 * call may be denied that the exact log would admit. Evenly spread traffic is counted correctly.
 * The method is Cloudflare's ("How we built rate limiting capable of scaling to millions of
 * domains", 2017).
 *
 * @param name the rule's name; {@link #of(long, Duration)} derives one from the numbers
 * @param count the most units in a window, 1 to {@value Rule#MAX_COUNT}
 * @param window the length of the window, 1 ms to 366 days, in whole microseconds
 */
public record SlidingWindowCounterRule(String name, long count, Duration window) implements Rule {

  public SlidingWindowCounterRule {
    RuleStack.requireNumbers(name, count, MAX_COUNT, window);
  }

  /** A rule named after its numbers, such as {@code 10-per-60s}. */
  public static SlidingWindowCounterRule of(long count, Duration window) {
    return new SlidingWindowCounterRule(Rule.nameOf(count, window), count, window);
  }

  @Override
  public String shape() {
    return "counter " + window;
  }

  @Override
  public SlidingWindowCounterRule withName(String other) {
    return new SlidingWindowCounterRule(other, count, window);
  }

  @Override
  public SlidingWindowCounterRule withCount(long other) {
    return new SlidingWindowCounterRule(name, other, window);
  }
}
