// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.Mode;
import io.limiter.core.rule.AlignedWindow;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.FixedWindowRule.Alignment;
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
 * The cell of a {@link FixedWindowRule}. Its numbers are the start of the window, as of the last
 * admitted call, and the units in it.
 */
final class WindowCell extends Cell {

  /** Clocks may be set back while an aligned window lasts. */
  private static final long CLOCK_CHANGES_MICROS = MICROSECONDS.convert(Duration.ofHours(2));

  /** They may be while a month lasts, even by a day where a zone crosses the date line. */
  private static final long DATE_CHANGES_MICROS = MICROSECONDS.convert(Duration.ofDays(1));

  /** Later than any time. */
  private static final long ALWAYS = 1L << 53;

  private final FixedWindowRule rule;
  private final long windowMicros;

  /** The aligned window of the last call, which many subjects share. A race computes it again. */
  private AlignedWindow latest = new AlignedWindow(0, 0);

  WindowCell(FixedWindowRule rule, int at) {
    super(at, algorithm(rule), 2);
    this.rule = rule;
    this.windowMicros = MICROSECONDS.convert(rule.window());
  }

  private static CellAlgorithm algorithm(FixedWindowRule rule) {
    if (rule.alignment().isEmpty()) {
      return CellAlgorithm.FIXED_WINDOW;
    }
    if (rule.alignment().get().calendar().isEmpty()) {
      return CellAlgorithm.ALIGNED_WINDOW;
    }
    return rule.isBySubject() ? CellAlgorithm.ANCHORED_WINDOW : CellAlgorithm.CALENDAR_WINDOW;
  }

  @Override
  public double[] plan(long wallMicros) {
    if (rule.alignment().isEmpty()) {
      return doubles(rule.count(), windowMicros);
    }
    Alignment alignment = rule.alignment().get();
    if (alignment.calendar().isPresent()) {
      long[] begins = AlignedWindow.begins(alignment, alignment.calendar().get(), wallMicros);
      return rule.isBySubject()
          ? doubles(
              rule.count(),
              begins[1],
              begins[2],
              begins[3],
              begins[4],
              begins[0] + CLOCK_CHANGES_MICROS,
              begins[1] + CLOCK_CHANGES_MICROS,
              begins[2] + CLOCK_CHANGES_MICROS)
          : doubles(rule.count(), begins[1], begins[2], begins[3], begins[4]);
    }
    long phase = Math.floorMod(AlignedWindow.anchorMicros(alignment), windowMicros);
    ZoneChange change = ZoneChange.nearest(alignment.zone(), windowMicros, wallMicros);
    return doubles(
        rule.count(),
        windowMicros,
        phase,
        change.offsetBeforeMicros,
        change.atMicros,
        change.offsetAfterMicros,
        change.firstMicros,
        change.lastMicros);
  }

  @Override
  public boolean isZoned() {
    return rule.alignment()
        .filter(by -> by.calendar().isPresent() || !by.zone().getRules().isFixedOffset())
        .isPresent();
  }

  @Override
  public long memoryMicros() {
    return switch (algorithm()) {
      case ALIGNED_WINDOW -> windowMicros + CLOCK_CHANGES_MICROS;
      case CALENDAR_WINDOW -> windowMicros + DATE_CHANGES_MICROS;
      case ANCHORED_WINDOW -> 2 * windowMicros + DATE_CHANGES_MICROS; // for any other day
      default -> windowMicros;
    };
  }

  /** The window that a call at this time begins, or continues if it is aligned. */
  private AlignedWindow begun(long nowMicros) {
    if (rule.alignment().isEmpty()) {
      return new AlignedWindow(nowMicros, nowMicros + windowMicros);
    }
    AlignedWindow window = latest;
    if (nowMicros < window.startMicros() || nowMicros >= window.endMicros()) {
      window = AlignedWindow.of(rule.alignment().get(), rule.window(), nowMicros);
      latest = window;
    }
    return window;
  }

  /** The window at a time: that of the stored start, or a later one. */
  private AlignedWindow window(long[] state, long nowMicros) {
    long startMicros = state[at];
    if (rule.isBySubject() && startMicros > 0 && startMicros <= nowMicros) {
      // Its day may have changed, and with it the end.
      return AlignedWindow.begunAt(
          startMicros, rule.alignment().get(), rule.window(), CLOCK_CHANGES_MICROS, nowMicros);
    }
    boolean lasts =
        state[at + 1] > 0 && startMicros <= nowMicros && nowMicros < startMicros + windowMicros;
    return rule.alignment().isEmpty() && lasts
        ? new AlignedWindow(startMicros, startMicros + windowMicros)
        : begun(nowMicros);
  }

  @Override
  public void use(
      long[] state, long used, long nowMicros, long returnsAfterMicros, long resetsAfterMicros) {
    long ends = nowMicros + resetsAfterMicros;
    if (rule.alignment().isEmpty()) {
      write(state, ends - windowMicros, used);
    } else if (rule.isBySubject() && begun(nowMicros).endMicros() < ends) {
      write(state, nowMicros, used); // it has lasted since another day
    } else {
      super.use(state, used, nowMicros, returnsAfterMicros, resetsAfterMicros);
    }
  }

  private void write(long[] state, long startMicros, long used) {
    state[at] = startMicros;
    state[at + 1] = used;
  }

  @Override
  public CellReadout read(long[] state, long nowMicros, int cost, Mode mode) {
    return new Windowed(state, nowMicros, cost, mode);
  }

  @Override
  public boolean giveBack(
      long[] state, long stampMicros, int units, int taken, long departureParts, long nowMicros) {
    if (stampMicros < state[at] || state[at + 1] == 0) {
      return false;
    }
    state[at + 1] = Math.max(0, state[at + 1] - units);
    return true;
  }

  @Override
  public void record(long[] state, long atMicros, long units) {
    Windowed then = new Windowed(state, atMicros, 1, Mode.RECORD);
    then.write(state, Math.min(units, Math.max(0, then.remainingBefore())));
  }

  /**
   * If a verdict arrives late, its window seems to end later than it does, and the units may have
   * begun the next one. So all of them count for a whole window from then on.
   */
  @Override
  public void recordEarlier(long[] state, long verdictMicros, long units) {
    record(state, verdictMicros, units);
    if (rule.alignment().isEmpty()) {
      state[at] = verdictMicros;
    }
  }

  @Override
  public long neededUntilMicros(long[] state) {
    return rule.isBySubject() ? state[at] + memoryMicros() : window(state, state[at]).endMicros();
  }

  /** By another day the period of a subject may end earlier, but only at midnight. */
  @Override
  public long spendableUntilMicros(long[] state, long nowMicros) {
    long endMicros = window(state, nowMicros).endMicros();
    return rule.isBySubject()
        ? Math.min(endMicros, AlignedWindow.midnightAfter(nowMicros, rule.alignment().get()))
        : endMicros;
  }

  private final class Windowed extends CellReadout.Computed {

    private final long startMicros;
    private final long used;
    private final long restMicros;

    Windowed(long[] state, long nowMicros, int cost, Mode mode) {
      super(rule.count(), cost, mode);
      AlignedWindow window = window(state, nowMicros);
      startMicros = window.startMicros();
      used = startMicros <= state[at] ? state[at + 1] : 0; // later where other rules began it
      restMicros = window.endMicros() - nowMicros;
    }

    @Override
    public long remainingBefore() {
      return count - used;
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
      return used + taken == 0 ? 0 : restMicros;
    }

    @Override
    void write(long[] state, long taken) {
      WindowCell.this.write(state, startMicros, used + taken);
    }
  }

  /**
   * The change of a zone's clocks that is nearest to some time, from which a script computes local
   * time around then. Times are microseconds.
   *
   * @param offsetBeforeMicros offset from UTC before the change
   * @param atMicros when it happens
   * @param offsetAfterMicros offset from then on
   * @param firstMicros the first time for which it suffices: no window contains the change before
   * @param lastMicros the first time for which it does not: the next change
   */
  private record ZoneChange(
      long offsetBeforeMicros,
      long atMicros,
      long offsetAfterMicros,
      long firstMicros,
      long lastMicros) {

    /**
     * @param windowMicros the length of a window, while which clocks may change
     */
    static ZoneChange nearest(ZoneId zone, long windowMicros, long nearMicros) {
      ZoneRules rules = zone.getRules();
      Instant now = Instant.EPOCH.plus(nearMicros, ChronoUnit.MICROS);
      long offset = micros(rules.getOffset(now));
      return Stream.of(rules.previousTransition(now.plusNanos(1)), rules.nextTransition(now))
          .filter(known -> known != null)
          .min((a, b) -> Long.compare(away(a, now), away(b, now)))
          .map(change -> of(change, rules, windowMicros + CLOCK_CHANGES_MICROS))
          .orElse(new ZoneChange(offset, 0, offset, 0, ALWAYS));
    }

    private static ZoneChange of(ZoneOffsetTransition change, ZoneRules rules, long longest) {
      long at = atMicros(change, 0);
      long before = atMicros(rules.previousTransition(change.getInstant()), 0);
      return new ZoneChange(
          micros(change.getOffsetBefore()),
          at,
          micros(change.getOffsetAfter()),
          // Of two changes that are close together, each suffices for the times that are nearer.
          before == 0 ? 0 : before + Math.min(longest, (at - before) / 3),
          atMicros(rules.nextTransition(change.getInstant()), ALWAYS));
    }

    private static long atMicros(@Nullable ZoneOffsetTransition change, long otherwise) {
      return change == null ? otherwise : change.toEpochSecond() * 1_000_000;
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
