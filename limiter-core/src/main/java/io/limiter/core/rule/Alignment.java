// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.Optional;

/**
 * Where the windows of a {@link FixedWindowRule} begin.
 *
 * @param zone the time zone whose local time is used
 * @param anchor a local time at which a window begins; midnight if empty. Required for windows that
 *     do not divide a day, such as a week
 */
public record Alignment(ZoneId zone, Optional<LocalDateTime> anchor) {

  /**
   * The longest window that can be aligned: a longer one might contain two changes of the clock.
   */
  public static final Duration MAX_WINDOW = Duration.ofDays(7);

  private static final Duration DAY = Duration.ofDays(1);

  /** Windows that begin at midnight and follow one another from there. */
  public static Alignment to(ZoneId zone) {
    return new Alignment(zone, Optional.empty());
  }

  /**
   * Returns windows one of which begins at this local time. For weeks from Monday: {@code
   * Alignment.to(zone).from(LocalDateTime.of(2024, 1, 1, 0, 0))}.
   */
  public Alignment from(LocalDateTime beginning) {
    return new Alignment(zone, Optional.of(beginning));
  }

  void requireFits(String rule, Duration window) {
    if (window.compareTo(MAX_WINDOW) > 0) {
      throw new IllegalArgumentException(
          "The rule '%s' has an aligned window of %s: give it 7 days at most"
              .formatted(rule, window));
    }
    if (anchor.isEmpty() && DAY.toNanos() % window.toNanos() != 0) {
      throw new IllegalArgumentException(
          "The rule '%s' has an aligned window of %s, which does not divide a day: give it one that does, or an anchor"
              .formatted(rule, window));
    }
    if (anchor.isPresent() && !anchor.get().truncatedTo(ChronoUnit.MICROS).equals(anchor.get())) {
      throw new IllegalArgumentException(
          "The rule '%s' has the anchor %s: give it whole microseconds"
              .formatted(rule, anchor.get()));
    }
  }
}
