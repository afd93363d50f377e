// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import static java.util.concurrent.TimeUnit.MICROSECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.model.ZoneWindows;
import io.limiter.core.rule.FixedWindowRule.Alignment;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.time.zone.ZoneOffsetTransition;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Windows around changes of clocks, compared with java.time. */
class AlignedWindowTest {

  private static final int[] MINUTES = {
    1, 7, 15, 30, 48, 50, 60, 77, 90, 120, 180, 720, 1_440, 10_080
  };

  private final Random random = new Random(11);

  @ParameterizedTest
  @ValueSource(
      strings = {
        "Europe/Berlin",
        "Australia/Lord_Howe",
        "America/St_Johns",
        "America/Santiago",
        "Asia/Beirut",
        "Asia/Kathmandu",
        "Antarctica/Troll",
        "UTC"
      })
  void everyTimeIsInTheWindowThatClocksShow(String name) {
    ZoneId zone = ZoneId.of(name);
    int checked = 0;
    for (Instant change : changes(zone)) {
      for (int minutes : MINUTES) {
        Alignment alignment =
            Alignment.to(zone)
                .from(LocalDateTime.of(2024, 1, 1, 0, 0).plusMinutes(random.nextInt(10_080)));
        Duration window = Duration.ofMinutes(minutes);
        for (Instant time : timesAround(change, window)) {
          assertAgree(alignment, window, ChronoUnit.MICROS.between(Instant.EPOCH, time));
          checked++;
        }
      }
    }
    assertThat(checked).isGreaterThan(100);
  }

  @ParameterizedTest
  @MethodSource("io.limiter.core.model.ZoneWindows#zones")
  void everyTimeOfTwentyYearsIsInThePeriodThatCalendarsShow(ZoneId zone) {
    for (CalendarPeriod period : CalendarPeriod.values()) {
      Alignment plain = Alignment.to(zone).each(period);
      LocalDateTime last = LocalDateTime.of(2024, 2, 29, random.nextInt(24), 30);
      for (Alignment alignment :
          List.of(
              plain,
              plain.from(LocalDateTime.of(2023, 12, 31, 0, 0)),
              plain.from(last),
              plain.from(LocalDateTime.of(2050, 5, 30, 2, 30)))) {
        long end = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.parse("2030-01-01T00:00:00Z"));
        long time = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.parse("2009-12-31T23:59:00Z"));
        int checked = 0;
        while (time < end) {
          assertAgree(alignment, period.longest(), time);
          // The next boundary, and times between boundaries.
          time =
              checked++ % 3 > 0
                  ? new ZoneWindows(alignment, period.longest()).end(time)
                  : time
                      + random.nextLong(2 * MICROSECONDS.convert(CalendarPeriod.MONTH.longest()));
        }
        assertThat(checked).isGreaterThan(20);
        for (Instant change : changes(zone)) {
          for (Instant near : timesAround(change, Duration.ofHours(36))) {
            assertAgree(
                alignment, period.longest(), ChronoUnit.MICROS.between(Instant.EPOCH, near));
          }
        }
      }
    }
  }

  private static List<Instant> changes(ZoneId zone) {
    List<Instant> changes = new ArrayList<>();
    Instant from = Instant.parse("2022-01-01T00:00:00Z");
    for (int i = 0; i < 8; i++) {
      ZoneOffsetTransition next = zone.getRules().nextTransition(from);
      from = next == null ? from.plus(100, ChronoUnit.DAYS) : next.getInstant();
      changes.add(from);
    }
    return changes;
  }

  private List<Instant> timesAround(Instant change, Duration window) {
    long micros = MICROSECONDS.convert(window) + Duration.ofHours(3).toNanos() / 1_000;
    List<Instant> times = new ArrayList<>();
    for (int i = -2; i <= 2; i++) {
      times.add(change.plus(i, ChronoUnit.MICROS));
      times.add(change.plus(Duration.ofMinutes(30L * i)));
    }
    for (int i = 0; i < 10; i++) {
      times.add(change.plus(random.nextLong(2 * micros) - micros, ChronoUnit.MICROS));
    }
    return times;
  }

  private static void assertAgree(Alignment alignment, Duration window, long time) {
    AlignedWindow found = AlignedWindow.of(alignment, window, time);
    ZoneWindows model = new ZoneWindows(alignment, window);
    assertThat(found)
        .as("%s of %s at %d", alignment, window, time)
        .isEqualTo(new AlignedWindow(model.begin(time), model.end(time)));
    for (long edge : new long[] {found.startMicros(), found.endMicros() - 1}) {
      assertThat(AlignedWindow.of(alignment, window, edge)).isEqualTo(found);
    }
    assertThat(AlignedWindow.of(alignment, window, found.endMicros()).startMicros())
        .isEqualTo(found.endMicros());
    assertThat(time).isGreaterThanOrEqualTo(found.startMicros()).isLessThan(found.endMicros());
  }
}
