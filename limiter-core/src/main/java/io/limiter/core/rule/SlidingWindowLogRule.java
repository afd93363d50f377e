// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import java.time.Duration;

/**
 * Sliding window log: at most {@code count} units in <em>any</em> interval of length {@code
 * window}. Exact: every unit is kept, with the microsecond at which it was taken, until it has left
 * the window. A unit taken at t counts in [t, t + window). The memory grows with {@code count}, by
 * about 8 bytes a unit.
 *
 * @param name the rule's name; {@link #of(long, Duration)} derives one from the numbers
 * @param count the most units in any window, 1 to {@value #MAX_COUNT}
 * @param window the length of the window, 1 ms to 366 days, in whole microseconds
 */
public record SlidingWindowLogRule(String name, long count, Duration window)
    implements Rule.LoggedRule {

  /** The largest count of an exact log: about 8 MB for each subject. */
  public static final long MAX_COUNT = 1_000_000;

  public SlidingWindowLogRule {
    RuleStack.requireNumbers(name, count, MAX_COUNT, ", since each unit is stored", window);
  }

  /** A rule named after its numbers, such as {@code 10-per-60s} or {@code 3-per-500ms}. */
  public static SlidingWindowLogRule of(long count, Duration window) {
    return new SlidingWindowLogRule(Rule.nameOf(count, window), count, window);
  }

  @Override
  public long kept() {
    return count;
  }

  @Override
  public SlidingWindowLogRule withName(String other) {
    return new SlidingWindowLogRule(other, count, window);
  }

  @Override
  public SlidingWindowLogRule withCount(long other) {
    return new SlidingWindowLogRule(name, other, window);
  }
}
