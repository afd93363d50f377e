// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import io.limiter.core.rule.Micros;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounter;
import io.limiter.core.store.Mode;

/**
 * The cell of a {@link SlidingWindowCounter}. Windows begin at multiples of their length.
 *
 * @param start the start of the current window, as of the last admitted call
 * @param current units in it
 * @param previous units in the window before it
 */
record CounterCell(long window, long start, long current, long previous) implements Cell {

  /** Converts the units of windows of another length, for a cell that is fully replenished. */
  CounterCell from(CounterCell other, long now, long newest) {
    long begin = Math.floorDiv(now, window) * window;
    long[] units = new long[2];
    other.addTo(units, other.start, other.current, begin, window, newest);
    other.addTo(units, other.start - other.window, other.previous, begin, window, newest);
    return units[0] + units[1] == 0 ? this : new CounterCell(window, begin, units[0], units[1]);
  }

  private void addTo(long[] units, long from, long some, long begin, long length, long newest) {
    long ends = Math.min(from + window, newest + 1); // nothing was used after the last write
    if (ends > begin) {
      units[0] += some;
    } else if (ends > begin - length) {
      units[1] += some;
    }
  }

  @Override
  public int kind() {
    return 1;
  }

  @Override
  public long scale() {
    return window;
  }

  @Override
  public int size() {
    return 3;
  }

  @Override
  public long time() {
    return start == 0 && current + previous == 0 ? -1 : start;
  }

  @Override
  public long memoryMicros() {
    return 2 * window;
  }

  @Override
  public boolean serves(Rule rule) {
    return rule instanceof SlidingWindowCounter && Micros.of(rule.window()) == window;
  }

  @Override
  public CellReadout read(Rule rule, long now, int cost, Mode mode) {
    CounterCell cell = at(Math.floorDiv(now, window) * window);
    long past = now - cell.start;
    long left = rule.count() - cell.current - weight(cell.previous, past);
    return new Counted(cell, rule.count(), past, cost, mode, left);
  }

  /**
   * Past units are recorded even if there is no room for them now: they count until the previous
   * window has passed.
   */
  @Override
  public Cell recorded(Rule rule, long now, int units) {
    CounterCell cell = at(Math.floorDiv(now, window) * window);
    long room = Math.max(0, rule.count() - cell.current);
    return cell.with(cell.current + Math.min(units, room), cell.previous);
  }

  private CounterCell at(long begin) {
    return begin == start
        ? this
        : new CounterCell(window, begin, 0, begin - window == start ? current : 0);
  }

  /** The units of a window that still count, {@code past} microseconds after it has ended. */
  private long weight(long units, long past) {
    // The order of operations is the same as in the Redis script: it defines the result where
    // doubles are inexact.
    return (long) Math.ceil((double) units * (double) (window - past) / (double) window);
  }

  /**
   * The first time in a window at which these units of the previous window count no more than
   * {@code weight}.
   */
  private long until(long units, long weight) {
    double guess = Math.ceil((double) window - (double) weight * (double) window / (double) units);
    long past = (long) Math.max(0, guess - 1); // the error is below one; without units it is 0
    while (weight(units, past) > weight) {
      past++;
    }
    return past;
  }

  @Override
  public Cell giveBack(long stamp, int units, int taken) {
    if (stamp >= start) {
      return current == 0 ? this : with(Math.max(0, current - units), previous);
    }
    return stamp < start - window || previous == 0
        ? this
        : with(current, Math.max(0, previous - units));
  }

  private CounterCell with(long now, long before) {
    return new CounterCell(window, start, now, before);
  }

  @Override
  public long neededUntil() {
    return start + 2 * window;
  }

  private static final class Counted extends CellReadout.Plain {

    private final CounterCell cell;
    private final long count;
    private final long past;

    Counted(CounterCell cell, long count, long past, int cost, Mode mode, long left) {
      super(count, cost, mode, left);
      this.cell = cell;
      this.count = count;
      this.past = past;
    }

    @Override
    long untilLeft(long wanted, long taken) {
      long used = cell.current + taken;
      long room = count - wanted;
      // Without room the window has to end; then these units may, because of rounding, count one
      // more.
      return room > used
          ? cell.until(cell.previous, room - used) - past
          : cell.window - past + cell.until(used, room);
    }

    @Override
    long untilMore(long taken) {
      return cell.current + taken + cell.previous == 0
          ? cell.window
          : untilLeft(left() - taken + 1, taken);
    }

    @Override
    long untilUnused(long taken) {
      if (cell.current + taken > 0) {
        return 2 * cell.window - past;
      }
      return cell.previous > 0 ? cell.window - past : 0;
    }

    @Override
    Cell with(long taken) {
      return cell.with(cell.current + taken, cell.previous);
    }
  }
}
