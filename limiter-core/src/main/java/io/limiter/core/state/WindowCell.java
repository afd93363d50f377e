// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.FixedWindowRule.Alignment;
import io.limiter.core.rule.Micros;
import io.limiter.core.rule.Rule;
import io.limiter.core.store.Mode;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;

/**
 * The cell of a {@link FixedWindowRule}.
 *
 * @param start the start of the window, as of the last admitted call
 * @param end the end of that window
 * @param used units in it
 */
record WindowCell(FixedWindowRule rule, long start, long end, long used) implements Cell {

  /** Creates the cell of a window of which only the start is stored. */
  static WindowCell stored(FixedWindowRule rule, long nowMicros, long start, long used) {
    if (rule.alignment().isEmpty()) {
      return new WindowCell(rule, start, start + Micros.of(rule.window()), used);
    }
    AlignedWindow window = AlignedWindow.of(rule.alignment().get(), rule.window(), nowMicros);
    return new WindowCell(
        rule, window.startMicros(), window.endMicros(), window.startMicros() <= start ? used : 0);
  }

  @Override
  public int kind() {
    return 2;
  }

  @Override
  public long timeMicros() {
    return end == 0 ? -1 : start;
  }

  @Override
  public long memoryMicros() {
    return Cell.longestMemoryMicros(rule);
  }

  @Override
  public boolean serves(Rule other) {
    return other == rule
        || (other instanceof FixedWindowRule fixed
            && fixed.window().equals(rule.window())
            && fixed.alignment().equals(rule.alignment()));
  }

  @Override
  public CellReadout read(Rule reading, long nowMicros, int cost, Mode mode) {
    WindowCell cell = used > 0 && start <= nowMicros && nowMicros < end ? this : begun(nowMicros);
    return new Windowed(cell, reading.count(), nowMicros, cost, mode);
  }

  private WindowCell begun(long nowMicros) {
    if (rule.alignment().isEmpty()) {
      return new WindowCell(rule, nowMicros, nowMicros + Micros.of(rule.window()), 0);
    }
    AlignedWindow window = AlignedWindow.of(rule.alignment().get(), rule.window(), nowMicros);
    return new WindowCell(rule, window.startMicros(), window.endMicros(), 0);
  }

  @Override
  public Cell giveBack(long stampMicros, int units, int taken) {
    return stampMicros < start || used == 0 ? this : with(Math.max(0, used - units));
  }

  private WindowCell with(long units) {
    return new WindowCell(rule, start, end, units);
  }

  @Override
  public long neededUntilMicros() {
    return end;
  }

  @Override
  public String toString() {
    return "WindowCell[start=%d, end=%d, used=%d]".formatted(start, end, used);
  }

  private static final class Windowed extends CellReadout.Computed {

    private final WindowCell cell;
    private final long restMicros;

    Windowed(WindowCell cell, long count, long nowMicros, int cost, Mode mode) {
      super(count, cost, mode);
      this.cell = cell;
      this.restMicros = cell.end - nowMicros;
    }

    @Override
    public long remainingBefore() {
      return count - cell.used;
    }

    @Override
    long microsUntilLeft(long wanted, long taken) {
      return restMicros;
    }

    @Override
    long microsUntilMore(long taken) {
      return restMicros;
    }

    @Override
    long microsUntilReplenished(long taken) {
      return cell.used + taken == 0 ? 0 : restMicros;
    }

    @Override
    Cell with(long taken) {
      return cell.with(cell.used + taken);
    }
  }

  /**
   * A window that begins and ends by the local time of a zone. Times are microseconds since the
   * epoch; local times are counted from the local epoch.
   *
   * <p>A window begins when the local clock reaches its beginning (each time, if that happens
   * twice), or when the clock is changed from another window into it. So a window is longer if the
   * clock is set back within it, and shorter if it is set forward.
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
      long local =
          nowMicros + offset - Math.floorMod(nowMicros + offset - phaseMicros, lengthMicros);
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
}
