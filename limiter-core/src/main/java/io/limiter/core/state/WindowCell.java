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
  static WindowCell stored(FixedWindow rule, long now, long start, long used) {
    if (rule.alignment().isEmpty()) {
      return new WindowCell(rule, start, start + Micros.of(rule.window()), used);
    }
    AlignedWindow window = AlignedWindow.of(rule.alignment().get(), rule.window(), now);
    return new WindowCell(rule, window.start(), window.end(), window.start() <= start ? used : 0);
  }

  @Override
  public int kind() {
    return 2;
  }

  @Override
  public long time() {
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
  public CellReadout read(Rule reading, long now, int cost, Mode mode) {
    WindowCell cell = used > 0 && start <= now && now < end ? this : begun(now);
    return new Windowed(cell, reading.count(), now, cost, mode);
  }

  private WindowCell begun(long now) {
    if (rule.alignment().isEmpty()) {
      return new WindowCell(rule, now, now + Micros.of(rule.window()), 0);
    }
    AlignedWindow window = AlignedWindow.of(rule.alignment().get(), rule.window(), now);
    return new WindowCell(rule, window.start(), window.end(), 0);
  }

  @Override
  public Cell giveBack(long stamp, int units, int taken) {
    return stamp < start || used == 0 ? this : with(Math.max(0, used - units));
  }

  private WindowCell with(long units) {
    return new WindowCell(rule, start, end, units);
  }

  @Override
  public long neededUntil() {
    return end;
  }

  @Override
  public String toString() {
    return "WindowCell[start=%d, end=%d, used=%d]".formatted(start, end, used);
  }

  private static final class Windowed extends CellReadout.Plain {

    private final WindowCell cell;
    private final long rest;

    Windowed(WindowCell cell, long count, long now, int cost, Mode mode) {
      super(count, cost, mode, count - cell.used);
      this.cell = cell;
      this.rest = cell.end - now;
    }

    @Override
    long untilLeft(long wanted, long taken) {
      return rest;
    }

    @Override
    long untilMore(long taken) {
      return rest;
    }

    @Override
    long untilUnused(long taken) {
      return cell.used + taken == 0 ? 0 : rest;
    }

    @Override
    Cell with(long taken) {
      return cell.with(cell.used + taken);
    }
  }
}
