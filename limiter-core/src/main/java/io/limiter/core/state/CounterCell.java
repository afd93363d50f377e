// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.store.Mode;
import org.jspecify.annotations.Nullable;

/**
 * The cell of a {@link SlidingWindowCounterRule}. Windows begin at multiples of their length.
 *
 * @param startMicros the start of the current window, as of the last admitted call
 * @param current units in it
 * @param previous units in the window before it
 */
record CounterCell(long windowMicros, long startMicros, long current, long previous)
    implements Cell {

  static @Nullable Cell unused(Rule rule) {
    return rule instanceof SlidingWindowCounterRule
        ? new CounterCell(MICROSECONDS.convert(rule.window()), 0, 0, 0)
        : null;
  }

  @Override
  public CellAlgorithm algorithm() {
    return CellAlgorithm.SLIDING_COUNTER;
  }

  @Override
  public double[] plan(Rule planned, long wallMicros) {
    return Cell.doubles(planned.count(), windowMicros);
  }

  @Override
  public Cell withNumbers(long firstMicros, double[] numbers, long nowMicros) {
    return new CounterCell(
        windowMicros, firstMicros, Cell.units(numbers[1]), Cell.units(numbers[2]));
  }

  @Override
  public Cell used(
      Rule reading, long used, long nowMicros, long returnsAfterMicros, long resetsAfterMicros) {
    return new CounterCell(windowMicros, beginMicros(nowMicros), used, 0);
  }

  private long beginMicros(long nowMicros) {
    return Math.floorDiv(nowMicros, windowMicros) * windowMicros;
  }

  @Override
  public int size() {
    return 3;
  }

  @Override
  public long memoryMicros() {
    return 2 * windowMicros;
  }

  @Override
  public CellReadout read(Rule rule, long nowMicros, int cost, Mode mode) {
    CounterCell cell = at(beginMicros(nowMicros));
    long past = nowMicros - cell.startMicros;
    long remaining = rule.count() - cell.current - weight(cell.previous, past);
    return new Counted(cell, rule.count(), past, cost, mode, remaining);
  }

  /**
   * Past units are recorded even if there is no room for them now: they count until the previous
   * window has passed.
   */
  @Override
  public Cell recorded(Rule rule, long nowMicros, int units) {
    CounterCell cell = at(beginMicros(nowMicros));
    long room = Math.max(0, rule.count() - cell.current);
    return cell.with(cell.current + Math.min(units, room), cell.previous);
  }

  private CounterCell at(long beginMicros) {
    return beginMicros == startMicros
        ? this
        : new CounterCell(
            windowMicros, beginMicros, 0, beginMicros - windowMicros == startMicros ? current : 0);
  }

  /** The units of a window that still count, {@code past} microseconds after it has ended. */
  private long weight(long units, long pastMicros) {
    // The order of operations is the same as in the Redis script: it defines the result where
    // doubles are inexact.
    return (long)
        Math.ceil((double) units * (double) (windowMicros - pastMicros) / (double) windowMicros);
  }

  /**
   * The first time in a window at which these units of the previous window count no more than
   * {@code weight}.
   */
  private long until(long units, long weight) {
    double guess =
        Math.ceil((double) windowMicros - (double) weight * (double) windowMicros / (double) units);
    long past = (long) Math.max(0, guess - 1); // the error is below one; without units it is 0
    while (weight(units, past) > weight) {
      past++;
    }
    return past;
  }

  @Override
  public Cell giveBack(
      Rule rule, long stampMicros, int units, int taken, long departureParts, long nowMicros) {
    if (stampMicros >= startMicros) {
      return current == 0 ? this : with(Math.max(0, current - units), previous);
    }
    return stampMicros < startMicros - windowMicros || previous == 0
        ? this
        : with(current, Math.max(0, previous - units));
  }

  private CounterCell with(long nowUnits, long before) {
    return new CounterCell(windowMicros, startMicros, nowUnits, before);
  }

  @Override
  public long neededUntilMicros() {
    return startMicros + 2 * windowMicros;
  }

  @Override
  public long spendableUntilMicros(long nowMicros) {
    return startMicros + windowMicros;
  }

  private static final class Counted extends CellReadout.Computed {

    private final CounterCell cell;
    private final long pastMicros;
    private final long remainingBefore;

    Counted(
        CounterCell cell, long count, long pastMicros, int cost, Mode mode, long remainingBefore) {
      super(count, cost, mode);
      this.cell = cell;
      this.pastMicros = pastMicros;
      this.remainingBefore = remainingBefore;
    }

    @Override
    public long remainingBefore() {
      return remainingBefore;
    }

    @Override
    long microsUntilLeft(long wanted, long taken) {
      long used = cell.current + taken;
      long room = count - wanted;
      // Without room the window has to end; then these units may, because of rounding, count one
      // more.
      return room > used
          ? cell.until(cell.previous, room - used) - pastMicros
          : cell.windowMicros - pastMicros + cell.until(used, room);
    }

    @Override
    long microsUntilMore(long taken) {
      return cell.current + taken + cell.previous == 0
          ? cell.windowMicros
          : microsUntilLeft(remainingBefore() - taken + 1, taken);
    }

    @Override
    long microsUntilReplenished(long taken) {
      if (cell.current + taken > 0) {
        return 2 * cell.windowMicros - pastMicros;
      }
      return cell.previous > 0 ? cell.windowMicros - pastMicros : 0;
    }

    @Override
    Cell with(long taken) {
      return cell.with(cell.current + taken, cell.previous);
    }
  }
}
