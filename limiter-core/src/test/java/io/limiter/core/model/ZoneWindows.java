// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.model;

import io.limiter.core.rule.FixedWindowRule.Alignment;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.temporal.ChronoUnit;
import java.time.zone.ZoneOffsetTransition;
import java.util.ArrayList;
import java.util.List;

/** The windows of a rule that is aligned to the clocks of a zone, according to java.time. */
public final class ZoneWindows {

  private static final LocalDateTime MIDNIGHT = LocalDateTime.of(1970, 1, 1, 0, 0);

  private final ZoneId zone;
  private final LocalDateTime anchor;
  private final Duration window;

  public ZoneWindows(Alignment alignment, Duration window) {
    this.zone = alignment.zone();
    this.anchor = alignment.anchor().orElse(MIDNIGHT);
    this.window = window;
  }

  private static long micros(Instant instant) {
    return ChronoUnit.MICROS.between(Instant.EPOCH, instant);
  }

  private ZonedDateTime here(long time) {
    return Instant.EPOCH.plus(time, ChronoUnit.MICROS).atZone(zone);
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
