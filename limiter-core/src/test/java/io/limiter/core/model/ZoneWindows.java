// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.model;

import io.limiter.core.rule.CalendarPeriod;
import io.limiter.core.rule.FixedWindowRule.Alignment;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.temporal.ChronoUnit;
import java.time.zone.ZoneOffsetTransition;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** The windows of a rule that is aligned to the clocks or the calendar of a zone, by java.time. */
public final class ZoneWindows {

  private static final LocalDateTime MIDNIGHT = LocalDateTime.of(1970, 1, 1, 0, 0);

  private static final LocalDateTime MONDAY = LocalDateTime.of(2024, 1, 1, 0, 0);

  private final ZoneId zone;
  private final Optional<CalendarPeriod> calendar;
  private final LocalDateTime anchor;
  private final Duration window;

  public ZoneWindows(Alignment alignment, Duration window) {
    this.zone = alignment.zone();
    this.calendar = alignment.calendar();
    this.anchor = alignment.anchor().orElse(calendar.isPresent() ? MONDAY : MIDNIGHT);
    this.window = window;
  }

  /**
   * Zones whose clocks are changed at midnight, before it, by half an hour and by two; one that
   * left out a day; and two that never change.
   */
  public static Stream<ZoneId> zones() {
    return Stream.of(
            "Europe/Berlin",
            "Australia/Lord_Howe",
            "America/St_Johns",
            "America/Santiago",
            "America/Havana",
            "Asia/Beirut",
            "Asia/Kathmandu",
            "Antarctica/Troll",
            "Pacific/Apia",
            "UTC")
        .map(ZoneId::of);
  }

  private static long micros(Instant instant) {
    return ChronoUnit.MICROS.between(Instant.EPOCH, instant);
  }

  private ZonedDateTime here(long time) {
    return Instant.EPOCH.plus(time, ChronoUnit.MICROS).atZone(zone);
  }

  /** Whether a period of the calendar begins on a day. */
  private boolean begins(LocalDate day) {
    boolean isDay = day.getDayOfMonth() == Math.min(anchor.getDayOfMonth(), day.lengthOfMonth());
    int months = day.getMonthValue() - anchor.getMonthValue();
    return switch (calendar.orElseThrow()) {
      case DAY -> true;
      case WEEK -> day.getDayOfWeek() == anchor.getDayOfWeek();
      case MONTH -> isDay;
      case QUARTER -> isDay && months % 3 == 0;
      case YEAR -> isDay && months == 0;
    };
  }

  /** When the local clock first shows the anchor's time on a day, or is set forward beyond it. */
  private long first(LocalDate day) {
    LocalDateTime local = day.atTime(anchor.toLocalTime());
    return zone.getRules().getValidOffsets(local).stream()
        .mapToLong(offset -> micros(local.toInstant(offset)))
        .min()
        .orElseGet(() -> micros(zone.getRules().getTransition(local).getInstant()));
  }

  /** The local time at which the window of this time begins. */
  private LocalDateTime localBegin(long time) {
    long since = ChronoUnit.MICROS.between(anchor, here(time).toLocalDateTime());
    return anchor.plus(since - Math.floorMod(since, Plain.micros(window)), ChronoUnit.MICROS);
  }

  /**
   * When the window of this time began: when the local clock last showed that time, or was changed
   * into the window.
   */
  public long begin(long time) {
    if (calendar.isPresent()) {
      return LongStream.iterate(0, back -> back + 1)
          .mapToObj(here(time).toLocalDate().plusDays(2)::minusDays)
          .filter(this::begins)
          .mapToLong(this::first)
          .filter(begin -> begin <= time)
          .findFirst()
          .orElseThrow();
    }
    LocalDateTime local = localBegin(time);
    long shown = micros(local.toInstant(here(time).getOffset()));
    ZoneOffsetTransition last =
        zone.getRules().previousTransition(here(time).toInstant().plusNanos(1));
    if (last == null || shown >= micros(last.getInstant())) {
      return shown;
    }
    long before = micros(last.getInstant()) - 1;
    return localBegin(before).equals(local) ? begin(before) : micros(last.getInstant());
  }

  /**
   * The first later time in another window: when the local clock shows its start, or is changed
   * into it.
   */
  public long end(long time) {
    if (calendar.isPresent()) {
      return LongStream.iterate(0, on -> on + 1)
          .mapToObj(here(time).toLocalDate().minusDays(2)::plusDays)
          .filter(this::begins)
          .mapToLong(this::first)
          .filter(begin -> begin > time)
          .findFirst()
          .orElseThrow();
    }
    LocalDateTime local = localBegin(time).plus(window);
    List<Instant> candidates = new ArrayList<>();
    zone.getRules()
        .getValidOffsets(local)
        .forEach(offset -> candidates.add(local.toInstant(offset)));
    ZoneOffsetTransition next = zone.getRules().nextTransition(here(time).toInstant());
    if (next != null) {
      candidates.add(next.getInstant());
    }
    return candidates.stream()
        .map(ZoneWindows::micros)
        .filter(later -> later > time && begin(later) != begin(time))
        .min(Long::compare)
        .orElseThrow();
  }
}
