// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.rule.Alignment;
import io.limiter.core.rule.Micros;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The change of a zone's clocks that is nearest to some time, from which Redis computes local time
 * around then. Times are microseconds.
 *
 * @param offsetBeforeMicros offset from UTC before the change
 * @param atMicros when it happens
 * @param offsetAfterMicros offset from then on
 */
record ZoneChange(long offsetBeforeMicros, long atMicros, long offsetAfterMicros) {

  static ZoneChange nearest(ZoneId zone, long nearMicros) {
    ZoneRules rules = zone.getRules();
    Instant now = Instant.EPOCH.plus(nearMicros, ChronoUnit.MICROS);
    long offset = micros(rules.getOffset(now));
    return Stream.of(rules.previousTransition(now), rules.nextTransition(now))
        .filter(known -> known != null)
        .min((a, b) -> Long.compare(away(a, now), away(b, now)))
        .map(
            change ->
                new ZoneChange(
                    micros(change.getOffsetBefore()),
                    change.toEpochSecond() * 1_000_000,
                    micros(change.getOffsetAfter())))
        .orElse(new ZoneChange(offset, 0, offset));
  }

  private static long away(@Nullable ZoneOffsetTransition change, Instant now) {
    return change == null
        ? Long.MAX_VALUE
        : Duration.between(change.getInstant(), now).abs().toSeconds();
  }

  private static long micros(ZoneOffset offset) {
    return offset.getTotalSeconds() * 1_000_000L;
  }

  /** The local time at which windows begin, modulo the window. */
  static long phaseMicros(Alignment alignment, Duration window) {
    LocalDateTime anchor = alignment.anchor().orElse(LocalDateTime.of(1970, 1, 1, 0, 0));
    long local = ChronoUnit.MICROS.between(LocalDateTime.of(1970, 1, 1, 0, 0), anchor);
    return Math.floorMod(local, Micros.of(window));
  }
}
