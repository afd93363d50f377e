// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.rule.AlignedWindow;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.FixedWindowRule.Alignment;
import io.limiter.core.rule.Rule;
import io.limiter.core.store.Mode;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The cell of a {@link FixedWindowRule}.
 *
 * @param startMicros the start of the window, as of the last admitted call
 * @param endMicros the end of that window
 * @param used units in it
 */
record WindowCell(FixedWindowRule rule, long startMicros, long endMicros, long used)
    implements Cell {

  /** Clocks may be set back while an aligned window lasts. */
  private static final long CLOCK_CHANGES_MICROS = MICROSECONDS.convert(Duration.ofHours(2));

  /** They may be while a month lasts, even by a day where a zone crosses the date line. */
  private static final long DATE_CHANGES_MICROS = MICROSECONDS.convert(Duration.ofDays(1));

  static @Nullable Cell unused(Rule rule) {
    return rule instanceof FixedWindowRule fixed ? new WindowCell(fixed, 0, 0, 0) : null;
  }

  @Override
  public CellAlgorithm algorithm() {
    return rule.alignment()
        .map(
            by ->
                by.calendar().isEmpty()
                    ? CellAlgorithm.ALIGNED_WINDOW
                    : by.bySubject()
                        ? CellAlgorithm.ANCHORED_WINDOW
                        : CellAlgorithm.CALENDAR_WINDOW)
        .orElse(CellAlgorithm.FIXED_WINDOW);
  }

  @Override
  public double[] plan(Rule planned, long wallMicros) {
    long windowMicros = MICROSECONDS.convert(rule.window());
    if (rule.alignment().isEmpty()) {
      return Cell.doubles(rule.count(), windowMicros);
    }
    Alignment alignment = rule.alignment().get();
    if (alignment.calendar().isPresent()) {
      long[] begins = AlignedWindow.begins(alignment, alignment.calendar().get(), wallMicros);
      return alignment.bySubject()
          ? Cell.doubles(
              rule.count(),
              begins[1],
              begins[2],
              begins[3],
              begins[4],
              begins[0] + CLOCK_CHANGES_MICROS,
              begins[1] + CLOCK_CHANGES_MICROS,
              begins[2] + CLOCK_CHANGES_MICROS)
          : Cell.doubles(rule.count(), begins[1], begins[2], begins[3], begins[4]);
    }
    long phase = Math.floorMod(AlignedWindow.anchorMicros(alignment), windowMicros);
    ZoneChange change = ZoneChange.nearest(alignment.zone(), wallMicros);
    return Cell.doubles(
        rule.count(),
        windowMicros,
        phase,
        change.offsetBeforeMicros,
        change.atMicros,
        change.offsetAfterMicros);
  }

  @Override
  public boolean isZoned() {
    return rule.alignment().isPresent()
        && (rule.alignment().get().calendar().isPresent()
            || !rule.alignment().get().zone().getRules().isFixedOffset());
  }

  /** Only the start of a window is stored. */
  @Override
  public Cell withNumbers(long firstMicros, double[] numbers, long nowMicros) {
    return started(nowMicros, firstMicros, Cell.units(numbers[1]));
  }

  private WindowCell started(long nowMicros, long startMicros, long units) {
    if (rule.alignment().isEmpty()) {
      return new WindowCell(
          rule, startMicros, startMicros + MICROSECONDS.convert(rule.window()), units);
    }
    if (rule.isBySubject()) {
      AlignedWindow known =
          AlignedWindow.begunAt(
              startMicros, rule.alignment().get(), rule.window(), CLOCK_CHANGES_MICROS, nowMicros);
      return new WindowCell(
          rule,
          known.startMicros(),
          known.endMicros(),
          known.startMicros() == startMicros ? units : 0);
    }
    AlignedWindow window = AlignedWindow.of(rule.alignment().get(), rule.window(), nowMicros);
    return new WindowCell(
        rule,
        window.startMicros(),
        window.endMicros(),
        window.startMicros() <= startMicros ? units : 0);
  }

  @Override
  public Cell used(
      Rule reading, long units, long nowMicros, long returnsAfterMicros, long resetsAfterMicros) {
    long ends = nowMicros + resetsAfterMicros;
    if (rule.isBySubject()
        && begun(nowMicros).endMicros < ends) { // it has lasted since another day
      return started(nowMicros, nowMicros, units);
    }
    if (rule.alignment().isPresent()) {
      return Cell.super.used(reading, units, nowMicros, returnsAfterMicros, resetsAfterMicros);
    }
    return new WindowCell(rule, ends - MICROSECONDS.convert(rule.window()), ends, units);
  }

  @Override
  public long memoryMicros() {
    long windowMicros = MICROSECONDS.convert(rule.window());
    return switch (algorithm()) {
      case ALIGNED_WINDOW -> windowMicros + CLOCK_CHANGES_MICROS;
      case CALENDAR_WINDOW -> windowMicros + DATE_CHANGES_MICROS;
      case ANCHORED_WINDOW -> 2 * windowMicros + DATE_CHANGES_MICROS; // for any other day
      default -> windowMicros;
    };
  }

  @Override
  public CellReadout read(Rule reading, long nowMicros, int cost, Mode mode) {
    WindowCell cell =
        rule.isBySubject()
            ? under((FixedWindowRule) reading, nowMicros)
            : used > 0 && startMicros <= nowMicros && nowMicros < endMicros
                ? this
                : begun(nowMicros);
    return new Windowed(cell, reading.count(), nowMicros, cost, mode);
  }

  /** The day on which the subject's periods begin may have changed, and with it the end. */
  private WindowCell under(FixedWindowRule reading, long nowMicros) {
    WindowCell unused = new WindowCell(reading, 0, 0, 0);
    return startMicros > 0 && startMicros <= nowMicros
        ? unused.started(nowMicros, startMicros, used)
        : unused.begun(nowMicros);
  }

  private WindowCell begun(long nowMicros) {
    if (rule.alignment().isEmpty()) {
      return new WindowCell(rule, nowMicros, nowMicros + MICROSECONDS.convert(rule.window()), 0);
    }
    AlignedWindow window = AlignedWindow.of(rule.alignment().get(), rule.window(), nowMicros);
    return new WindowCell(rule, window.startMicros(), window.endMicros(), 0);
  }

  @Override
  public Cell giveBack(
      Rule under, long stampMicros, int units, int taken, long departureParts, long nowMicros) {
    return stampMicros < startMicros || used == 0 ? this : with(Math.max(0, used - units));
  }

  private WindowCell with(long units) {
    return new WindowCell(rule, startMicros, endMicros, units);
  }

  /**
   * If a verdict arrives late, its window seems to end later than it does, and the units may have
   * begun the next one. So all of them count for a whole window from then on.
   */
  @Override
  public Cell withEarlier(Rule reading, long verdictMicros, int units) {
    WindowCell then = (WindowCell) recorded(reading, verdictMicros, units);
    return rule.alignment().isPresent() ? then : begun(verdictMicros).with(then.used);
  }

  @Override
  public long neededUntilMicros() {
    return rule.isBySubject() ? startMicros + memoryMicros() : endMicros;
  }

  /** By another day the period of a subject may end earlier, but only at midnight. */
  @Override
  public long spendableUntilMicros(long nowMicros) {
    return rule.isBySubject()
        ? Math.min(endMicros, AlignedWindow.midnightAfter(nowMicros, rule.alignment().get()))
        : endMicros;
  }

  @Override
  public String toString() {
    return "WindowCell[start=%s, end=%s, used=%s]".formatted(startMicros, endMicros, used);
  }

  private static final class Windowed extends CellReadout.Computed {

    private final WindowCell cell;
    private final long restMicros;

    Windowed(WindowCell cell, long count, long nowMicros, int cost, Mode mode) {
      super(count, cost, mode);
      this.cell = cell;
      this.restMicros = cell.endMicros - nowMicros;
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
   * The change of a zone's clocks that is nearest to some time, from which a script computes local
   * time around then. Times are microseconds.
   *
   * @param offsetBeforeMicros offset from UTC before the change
   * @param atMicros when it happens
   * @param offsetAfterMicros offset from then on
   */
  private record ZoneChange(long offsetBeforeMicros, long atMicros, long offsetAfterMicros) {

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

    private static long micros(ZoneOffset offset) {
      return offset.getTotalSeconds() * 1_000_000L;
    }

    private static long away(@Nullable ZoneOffsetTransition change, Instant now) {
      return change == null
          ? Long.MAX_VALUE
          : Duration.between(change.getInstant(), now).abs().toSeconds();
    }
  }
}
