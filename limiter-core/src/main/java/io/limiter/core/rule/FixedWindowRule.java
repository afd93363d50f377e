// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.Optional;

/**
 * Fixed window: at most {@code count} units in each window; one number for each subject. A window
 * begins with the first call after the previous one has ended or, if aligned, by the clock: at each
 * full minute, hour or day of a time zone. An interval of one window's length may contain twice the
 * count if it spans the end of one window and the start of the next.
 *
 * @param name the rule's name; the factories derive one from the numbers
 * @param count the most units in a window, 0 to {@value Rule#MAX_COUNT}; 0 admits no call
 * @param window the length of the window, 1 ms to 366 days, in whole microseconds; 7 days at most
 *     if it is aligned
 * @param alignment where windows begin; empty if they begin with the first call
 */
public record FixedWindowRule(
    String name, long count, Duration window, Optional<Alignment> alignment) implements Rule {

  public FixedWindowRule {
    RuleStack.requireNumbers(name, count, 0, MAX_COUNT, window);
    if (alignment.isPresent()) {
      alignment.get().requireFits(name, window);
    }
  }

  /** Windows that begin with a call; named after its numbers, such as {@code 10-per-60s}. */
  public static FixedWindowRule of(long count, Duration window) {
    return new FixedWindowRule(Rule.nameOf(count, window), count, window, Optional.empty());
  }

  /**
   * Windows that begin at full seconds, minutes, hours or days of a time zone. Every window that
   * divides a day can be aligned. On days when the clock changes, a day has 23 or 25 hours.
   */
  public static FixedWindowRule aligned(long count, Duration window, ZoneId zone) {
    return of(count, window).alignedTo(Alignment.to(zone));
  }

  /** Returns this rule with aligned windows. */
  public FixedWindowRule alignedTo(Alignment other) {
    return new FixedWindowRule(name, count, window, Optional.of(other));
  }

  @Override
  public String shape() {
    return "fixed %s %s".formatted(window, alignment);
  }

  /** Its window. */
  @Override
  public Duration longestLease() {
    return window.compareTo(MAX_LEASE) < 0 ? window : MAX_LEASE;
  }

  @Override
  public FixedWindowRule withName(String other) {
    return new FixedWindowRule(other, count, window, alignment);
  }

  @Override
  public FixedWindowRule withCount(long other) {
    return new FixedWindowRule(name, other, window, alignment);
  }

  /**
   * Where the windows begin.
   *
   * @param zone the time zone whose local time is used
   * @param anchor a local time at which a window begins; midnight if empty. Required for windows
   *     that do not divide a day, such as a week
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
            "The rule '%s' has an aligned window of %s: use 7 days at most"
                .formatted(rule, window));
      }
      if (anchor.isEmpty() && DAY.toNanos() % window.toNanos() != 0) {
        throw new IllegalArgumentException(
            "The rule '%s' has an aligned window of %s, which does not divide a day: use one that does, or set an anchor"
                .formatted(rule, window));
      }
      if (anchor.isPresent() && !anchor.get().truncatedTo(ChronoUnit.MICROS).equals(anchor.get())) {
        throw new IllegalArgumentException(
            "The rule '%s' has the anchor %s: use whole microseconds"
                .formatted(rule, anchor.get()));
      }
    }
  }
}
