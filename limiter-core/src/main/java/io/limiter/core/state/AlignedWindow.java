// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import io.limiter.core.rule.Alignment;
import io.limiter.core.rule.Micros;
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
 * set back within it, and shorter if it is set forward.
 *
 * @param endMicros the first time after the window
 */
record AlignedWindow(long startMicros, long endMicros) {

  private static final LocalDateTime EPOCH = LocalDateTime.of(1970, 1, 1, 0, 0);

  /** Returns the window that contains a time. */
  static AlignedWindow of(Alignment alignment, Duration window, long nowMicros) {
    long lengthMicros = Micros.of(window);
    long phaseMicros =
        alignment.anchor().map(anchor -> ChronoUnit.MICROS.between(EPOCH, anchor)).orElse(0L);
    return of(alignment.zone().getRules(), lengthMicros, phaseMicros, nowMicros);
  }

  private static AlignedWindow of(
      ZoneRules zone, long lengthMicros, long phaseMicros, long nowMicros) {
    Instant instant = Instant.EPOCH.plus(nowMicros, ChronoUnit.MICROS);
    long offset = micros(zone.getOffset(instant));
    long local = nowMicros + offset - Math.floorMod(nowMicros + offset - phaseMicros, lengthMicros);
    long start = local - offset;
    long end = start + lengthMicros;
    ZoneOffsetTransition last = zone.previousTransition(instant.plusNanos(1));
    if (last != null && start < at(last)) {
      long before = local - micros(last.getOffsetBefore());
      boolean continued = before < at(last) && before + lengthMicros >= at(last);
      start = continued ? before : at(last);
    }
    ZoneOffsetTransition next = zone.nextTransition(instant);
    if (next != null && at(next) <= end) {
      boolean continues = of(zone, lengthMicros, phaseMicros, at(next)).startMicros == start;
      end = continues ? local + lengthMicros - micros(next.getOffsetAfter()) : at(next);
    }
    return new AlignedWindow(start, end);
  }

  private static long at(ZoneOffsetTransition change) {
    return change.toEpochSecond() * 1_000_000;
  }

  private static long micros(ZoneOffset offset) {
    return offset.getTotalSeconds() * 1_000_000L;
  }
}
