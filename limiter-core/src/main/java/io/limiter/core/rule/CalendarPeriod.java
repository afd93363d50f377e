// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import java.time.Duration;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;

/** A period of the calendar of a time zone, for windows that follow one another without a gap. */
public enum CalendarPeriod {
  DAY(ChronoUnit.DAYS, 1, 1),
  WEEK(ChronoUnit.WEEKS, 1, 7),
  MONTH(ChronoUnit.MONTHS, 1, 31),
  QUARTER(ChronoUnit.MONTHS, 3, 92),
  YEAR(ChronoUnit.YEARS, 1, 366);

  /** A Monday with which a month, a quarter and a leap year begin. */
  static final LocalDate EPOCH = LocalDate.of(2024, 1, 1);

  private final ChronoUnit unit;
  private final int units;
  private final Duration longest;

  CalendarPeriod(ChronoUnit unit, int units, int days) {
    this.unit = unit;
    this.units = units;
    this.longest = Duration.ofDays(days);
  }

  /** The longest such period, if no clock is changed meanwhile: 31 days of a {@link #MONTH}. */
  public Duration longest() {
    return longest;
  }

  /**
   * The local time at which a period begins. If a month has no such day, it is the last one: from
   * January 31 on, the second month begins on February 28 or 29, and the third on March 31.
   *
   * @param anchor when the period 0 begins
   * @param index of the period; those before the anchor are negative
   */
  public LocalDateTime begin(LocalDateTime anchor, long index) {
    return anchor.plus(index * units, unit);
  }

  /**
   * The day of 2024 that begins the same periods as a day, so that days that begin the same ones
   * are equal: the 31 of a {@link #MONTH}, the 7 of a {@link #WEEK}.
   */
  LocalDate beginning(LocalDate day) {
    return switch (this) {
      case DAY -> EPOCH;
      case WEEK -> EPOCH.plusDays(day.getDayOfWeek().getValue() - 1);
      case MONTH -> EPOCH.withDayOfMonth(day.getDayOfMonth());
      // January, May and March have 31 days, and are in different months of their quarters.
      case QUARTER ->
          LocalDate.of(
              2024, List.of(1, 5, 3).get((day.getMonthValue() - 1) % 3), day.getDayOfMonth());
      case YEAR -> day.withYear(2024);
    };
  }

  /** The index of the period that contains a local time. */
  public long index(LocalDateTime anchor, LocalDateTime time) {
    long index = unit.between(anchor, time) / units; // rounded towards the anchor
    while (begin(anchor, index).isAfter(time)) {
      index--;
    }
    while (!begin(anchor, index + 1).isAfter(time)) {
      index++;
    }
    return index;
  }

  /** The name in those of rules, such as {@code month}. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
