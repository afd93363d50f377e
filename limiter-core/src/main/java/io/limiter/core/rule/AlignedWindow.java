// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.rule.FixedWindowRule.Alignment;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;

/**
 * A window that begins and ends by the local time of a zone. Times are microseconds since the
 * epoch; local times are counted from the local epoch.
 *
 * <p>A window begins when the local clock reaches its beginning (each time, if that happens twice),
 * or when the clock is changed from another window into it. So a window is longer if the clock is
 * set back within it, and shorter if it is set forward. A period of the calendar begins once: when
 * the local clock first reaches its beginning, or passes it.
 *
 * @param endMicros the first time after the window
 */
public record AlignedWindow(long startMicros, long endMicros) {

  private static final LocalDateTime EPOCH = LocalDateTime.of(1970, 1, 1, 0, 0);

  /** A Monday with which a month, a quarter and a year begin. */
  private static final LocalDateTime CALENDAR_EPOCH = LocalDateTime.of(2024, 1, 1, 0, 0);

  /** Returns the window that contains a time. */
  public static AlignedWindow of(Alignment alignment, Duration window, long nowMicros) {
    if (alignment.calendar().isPresent()) {
      ZoneRules zone = alignment.zone().getRules();
      LocalDateTime anchor = alignment.anchor().orElse(CALENDAR_EPOCH);
      CalendarPeriod calendar = alignment.calendar().get();
      long index = indexOf(zone, anchor, calendar, nowMicros);
      return new AlignedWindow(
          beginMicros(zone, anchor, calendar, index),
          beginMicros(zone, anchor, calendar, index + 1));
    }
    long lengthMicros = MICROSECONDS.convert(window);
    return of(alignment.zone().getRules(), lengthMicros, anchorMicros(alignment), nowMicros);
  }

  /**
   * Returns the window that began at a time, unless it has ended; then the one that contains
   * another time. It ends with the first beginning that is a whole period later. Tables of time
   * zones may differ by hours: then a period is that much shorter.
   *
   * @param toleranceMicros by how much they may differ
   */
  public static AlignedWindow begunAt(
      long startMicros,
      Alignment alignment,
      Duration window,
      long toleranceMicros,
      long nowMicros) {
    ZoneRules zone = alignment.zone().getRules();
    LocalDateTime anchor = alignment.anchor().orElseThrow();
    CalendarPeriod calendar = alignment.calendar().orElseThrow();
    long before = indexOf(zone, anchor, calendar, startMicros - toleranceMicros - 1);
    long endMicros = beginMicros(zone, anchor, calendar, before + 2);
    return nowMicros < endMicros
        ? new AlignedWindow(startMicros, endMicros)
        : of(alignment, window, nowMicros);
  }

  /** The next midnight of a zone. */
  public static long midnightAfter(long nowMicros, Alignment alignment) {
    Alignment days = Alignment.to(alignment.zone()).each(CalendarPeriod.DAY);
    return of(days, CalendarPeriod.DAY.longest(), nowMicros).endMicros;
  }

  /**
   * When periods of the calendar begin: the two before that which contains a time, that one, and
   * the next two.
   */
  public static long[] begins(Alignment alignment, CalendarPeriod calendar, long nowMicros) {
    ZoneRules zone = alignment.zone().getRules();
    LocalDateTime anchor = alignment.anchor().orElse(CALENDAR_EPOCH);
    long index = indexOf(zone, anchor, calendar, nowMicros);
    long[] begins = new long[5];
    for (int i = 0; i < begins.length; i++) {
      begins[i] = beginMicros(zone, anchor, calendar, index - 2 + i);
    }
    return begins;
  }

  /** The index of the period of the calendar that contains a time. */
  private static long indexOf(
      ZoneRules zone, LocalDateTime anchor, CalendarPeriod calendar, long nowMicros) {
    Instant now = Instant.EPOCH.plus(nowMicros, ChronoUnit.MICROS);
    long index = calendar.index(anchor, LocalDateTime.ofInstant(now, zone.getOffset(now)));
    // The local clock may be set back to a time before the beginning of a period that it showed.
    return beginMicros(zone, anchor, calendar, index + 1) <= nowMicros ? index + 1 : index;
  }

  /** When the local clock first shows the beginning of a period, or is set forward beyond it. */
  private static long beginMicros(
      ZoneRules zone, LocalDateTime anchor, CalendarPeriod calendar, long index) {
    LocalDateTime local = calendar.begin(anchor, index);
    ZoneOffsetTransition change = zone.getTransition(local);
    if (change != null && change.isGap()) {
      return atMicros(change);
    }
    ZoneOffset first = change == null ? zone.getOffset(local) : change.getOffsetBefore();
    return ChronoUnit.MICROS.between(EPOCH, local) - micros(first);
  }

  /** A local time at which a window begins. */
  public static long anchorMicros(Alignment alignment) {
    return alignment.anchor().map(anchor -> ChronoUnit.MICROS.between(EPOCH, anchor)).orElse(0L);
  }

  private static AlignedWindow of(
      ZoneRules zone, long lengthMicros, long phaseMicros, long nowMicros) {
    Instant instant = Instant.EPOCH.plus(nowMicros, ChronoUnit.MICROS);
    long offset = micros(zone.getOffset(instant));
    long local = nowMicros + offset - Math.floorMod(nowMicros + offset - phaseMicros, lengthMicros);
    long startMicros = local - offset;
    long endMicros = startMicros + lengthMicros;
    ZoneOffsetTransition last = zone.previousTransition(instant.plusNanos(1));
    if (last != null && startMicros < atMicros(last)) {
      long before = local - micros(last.getOffsetBefore());
      boolean continued = before < atMicros(last) && before + lengthMicros >= atMicros(last);
      startMicros = continued ? before : atMicros(last);
    }
    ZoneOffsetTransition next = zone.nextTransition(instant);
    if (next != null && atMicros(next) <= endMicros) {
      boolean continues =
          of(zone, lengthMicros, phaseMicros, atMicros(next)).startMicros == startMicros;
      endMicros = continues ? local + lengthMicros - micros(next.getOffsetAfter()) : atMicros(next);
    }
    return new AlignedWindow(startMicros, endMicros);
  }

  private static long atMicros(ZoneOffsetTransition change) {
    return change.toEpochSecond() * 1_000_000;
  }

  private static long micros(ZoneOffset offset) {
    return offset.getTotalSeconds() * 1_000_000L;
  }
}
