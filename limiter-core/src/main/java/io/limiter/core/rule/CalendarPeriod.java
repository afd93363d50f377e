// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import java.time.Duration;
import java.time.LocalDateTime;
import java.time.temporal.ChronoUnit;
import java.util.Locale;

/** A period of the calendar of a time zone, for windows that follow one another without a gap. */
public enum CalendarPeriod {
  DAY(ChronoUnit.DAYS, 1, 1),
  WEEK(ChronoUnit.WEEKS, 1, 7),
  MONTH(ChronoUnit.MONTHS, 1, 31),
  QUARTER(ChronoUnit.MONTHS, 3, 92),
  YEAR(ChronoUnit.YEARS, 1, 366);

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
