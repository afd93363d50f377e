// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import io.limiter.core.rule.FixedWindow;
import io.limiter.core.rule.Micros;
import io.limiter.core.rule.Rule;
import io.limiter.core.store.Mode;

/**
 * The cell of a {@link FixedWindow}.
 *
 * @param start the start of the window, as of the last admitted call
 * @param end the end of that window
 * @param used units in it
 */
record WindowCell(FixedWindow rule, long start, long end, long used) implements Cell {

  /** Creates the cell of a window of which only the start is stored. */
  static WindowCell stored(FixedWindow rule, long nowMicros, long start, long used) {
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
        || (other instanceof FixedWindow fixed
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
      super(count, cost, mode, count - cell.used);
      this.cell = cell;
      this.restMicros = cell.end - nowMicros;
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
}
