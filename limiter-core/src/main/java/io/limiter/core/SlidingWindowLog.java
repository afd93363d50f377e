// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import java.time.Duration;
import java.time.temporal.ChronoUnit;

/**
 * Sliding window log: at most {@code count} units in <em>any</em> interval of length {@code
 * window}. Exact: every unit is remembered, with the microsecond it was taken at, until it has left
 * the window; a unit taken at t counts in [t, t + window). Its memory grows with {@code count}, by
 * about 8 bytes a unit.
 *
 * @param name the rule's name; {@link #of(long, Duration)} makes one from the numbers
 * @param count the most units in any window, 1 to {@value #MAX_COUNT}
 * @param window the length of the window, 1 ms to 366 days, in whole microseconds
 */
public record SlidingWindowLog(String name, long count, Duration window) implements Rule {

  /** The largest count of an exact log: some 8 MB for each subject. */
  public static final long MAX_COUNT = 1_000_000;

  /** The shortest window. */
  public static final Duration MIN_WINDOW = Duration.ofMillis(1);

  /** The longest window: a leap year. */
  public static final Duration MAX_WINDOW = Duration.ofDays(366);

  public SlidingWindowLog {
    Rule.requireName("rule", name);
    if (count < 1 || count > MAX_COUNT) {
      throw new IllegalArgumentException(
          "The rule '%s' has count %d: give it 1 to %d".formatted(name, count, MAX_COUNT));
    }
    if (window.compareTo(MIN_WINDOW) < 0 || window.compareTo(MAX_WINDOW) > 0) {
      throw new IllegalArgumentException(
          "The rule '%s' has a window of %s: give it 1 ms to 366 days".formatted(name, window));
    }
    if (window.toNanosPart() % 1_000 != 0) {
      throw new IllegalArgumentException(
          "The rule '%s' has a window of %s: give it whole microseconds".formatted(name, window));
    }
  }

  /** A rule named after its numbers, such as {@code 10-per-60s} or {@code 3-per-500ms}. */
  public static SlidingWindowLog of(long count, Duration window) {
    return new SlidingWindowLog(count + "-per-" + text(window), count, window);
  }

  @Override
  public SlidingWindowLog withName(String other) {
    return new SlidingWindowLog(other, count, window);
  }

  @Override
  public SlidingWindowLog withCount(long other) {
    return new SlidingWindowLog(name, other, window);
  }

  private static String text(Duration window) {
    if (window.toNanosPart() == 0) {
      return window.toSeconds() + "s";
    }
    if (window.toNanosPart() % 1_000_000 == 0) {
      return window.toMillis() + "ms";
    }
    return window.dividedBy(ChronoUnit.MICROS.getDuration()) + "us";
  }
}
