// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import java.time.Duration;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.Optional;

/**
 * Fixed window: at most {@code count} units in each window; one number for each subject. A window
 * begins with the first call after the previous one has ended or, if aligned, by the clock: at each
 * full minute, hour or day of a time zone, or with a {@link CalendarPeriod}. An interval of one
 * window's length may contain twice the count if it spans the end of one window and the start of
 * the next.
 *
 * @param name the rule's name; the factories derive one from the numbers
 * @param count the most units in a window, 0 to {@value Rule#MAX_COUNT}; 0 admits no call
 * @param window the length of the window, 1 ms to 366 days, in whole microseconds; 7 days at most
 *     if it is aligned; the longest period, if windows are those of the calendar
 * @param alignment where windows begin; empty if they begin with the first call
 */
public record FixedWindowRule(
    String name, long count, Duration window, Optional<Alignment> alignment) implements Rule {

  public FixedWindowRule {
    RuleStack.requireNumbers(name, count, 0, MAX_COUNT, "", window);
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

  /**
   * Windows that are days, weeks from Monday, months, quarters or years in a time zone; named such
   * as {@code 1000-per-month}.
   */
  public static FixedWindowRule aligned(long count, CalendarPeriod calendar, ZoneId zone) {
    return new FixedWindowRule(
        count + "-per-" + calendar,
        count,
        calendar.longest(),
        Optional.of(Alignment.to(zone).each(calendar)));
  }

  /** Returns this rule with aligned windows; those of a calendar have its length. */
  public FixedWindowRule alignedTo(Alignment other) {
    Duration length = other.calendar().map(CalendarPeriod::longest).orElse(window);
    return new FixedWindowRule(name, count, length, Optional.of(other));
  }

  /** Whether its windows begin on a day of each subject, see {@link Alignment#forSubject}. */
  public boolean isBySubject() {
    return alignment.filter(Alignment::bySubject).isPresent();
  }

  /** The day with which a subject's periods begin may change, and is not part of it. */
  @Override
  public String shape() {
    return "fixed %s %s"
        .formatted(
            window, alignment.map(by -> by.bySubject() ? by.forSubject(CalendarPeriod.EPOCH) : by));
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
   * @param anchor a local time at which a window begins; midnight if empty, and the beginning of a
   *     year and a week if it is a calendar. Required for windows that do not divide a day
   * @param calendar if windows are periods of the calendar
   * @param bySubject whether the anchor is that of one subject, and may change, see {@link
   *     #forSubject}
   */
  public record Alignment(
      ZoneId zone,
      Optional<LocalDateTime> anchor,
      Optional<CalendarPeriod> calendar,
      boolean bySubject) {

    /**
     * The longest window that can be aligned: a longer one might contain two changes of the clock.
     */
    public static final Duration MAX_WINDOW = Duration.ofDays(7);

    private static final Duration DAY = Duration.ofDays(1);

    /** Windows that begin at midnight and follow one another from there. */
    public static Alignment to(ZoneId zone) {
      return new Alignment(zone, Optional.empty(), Optional.empty(), false);
    }

    /**
     * Returns windows one of which begins at this local time. For weeks from Monday: {@code
     * Alignment.to(zone).from(LocalDateTime.of(2024, 1, 1, 0, 0))}. For months that begin on the
     * last day of the previous one: {@code
     * Alignment.to(zone).each(MONTH).from(LocalDateTime.of(2024, 1, 31, 0, 0))}.
     */
    public Alignment from(LocalDateTime beginning) {
      return new Alignment(zone, Optional.of(beginning), calendar, false);
    }

    /**
     * Returns windows that are periods of the calendar. A window begins when the local clock first
     * reaches its beginning, or passes it where clocks are set forward. So each begins once, and
     * ends with the next.
     */
    public Alignment each(CalendarPeriod period) {
      return new Alignment(zone, anchor, Optional.of(period), bySubject);
    }

    /**
     * Returns periods of the calendar that begin on a day of one subject, such as its billing day,
     * at midnight. Of a week its day of the week counts, of a month its day of the month, of a
     * quarter its month in the quarter, too.
     *
     * <p>It is not part of the shape: a subject with another day goes on from what it has used. The
     * period that it has begun ends with the first beginning by the new day that is a whole period
     * later. So a day that changes, however often, is no way to more: between two beginnings there
     * is a whole period of the calendar.
     */
    public Alignment forSubject(LocalDate day) {
      LocalDate beginning = calendar.map(each -> each.beginning(day)).orElse(day);
      return new Alignment(zone, Optional.of(beginning.atStartOfDay()), calendar, true);
    }

    void requireFits(String rule, Duration window) {
      if (bySubject && calendar.filter(each -> each != CalendarPeriod.DAY).isEmpty()) {
        throw new IllegalArgumentException(
            "The rule '%s' has windows that begin on a day of each subject: use a week, a month, a quarter or a year of the calendar"
                .formatted(rule));
      }
      if (calendar.isPresent() && !window.equals(calendar.get().longest())) {
        throw new IllegalArgumentException(
            "The rule '%s' has windows of the calendar of %s: use %s for each %s"
                .formatted(rule, window, calendar.get().longest(), calendar.get()));
      }
      if (calendar.isEmpty() && window.compareTo(MAX_WINDOW) > 0) {
        throw new IllegalArgumentException(
            "The rule '%s' has an aligned window of %s: use 7 days at most, or a period of the calendar, such as a month"
                .formatted(rule, window));
      }
      if (calendar.isEmpty() && anchor.isEmpty() && DAY.toNanos() % window.toNanos() != 0) {
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
