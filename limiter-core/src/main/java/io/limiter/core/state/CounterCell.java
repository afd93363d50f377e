// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.Mode;
import io.limiter.core.rule.SlidingWindowCounterRule;

/**
 * The cell of a {@link SlidingWindowCounterRule}. Windows begin at multiples of their length. Its
 * numbers are the start of the current window, as of the last admitted call, the units in it, and
 * those in the window before it.
 */
final class CounterCell extends Cell {

  private final SlidingWindowCounterRule rule;
  private final long windowMicros;

  CounterCell(SlidingWindowCounterRule rule, int at) {
    super(at, CellAlgorithm.SLIDING_COUNTER, 3);
    this.rule = rule;
    this.windowMicros = MICROSECONDS.convert(rule.window());
  }

  @Override
  public double[] plan(long wallMicros) {
    return doubles(rule.count(), windowMicros);
  }

  @Override
  public long memoryMicros() {
    return 2 * windowMicros;
  }

  @Override
  public void use(
      long[] state, long used, long nowMicros, long returnsAfterMicros, long resetsAfterMicros) {
    state[at] = beginMicros(nowMicros);
    state[at + 1] = used;
    state[at + 2] = 0;
  }

  private long beginMicros(long nowMicros) {
    return Math.floorDiv(nowMicros, windowMicros) * windowMicros;
  }

  @Override
  public CellReadout read(long[] state, long nowMicros, int cost, Mode mode) {
    return new Counted(state, nowMicros, cost, mode);
  }

  /**
   * Past units are recorded even if there is no room for them now: they count until the previous
   * window has passed.
   */
  @Override
  public void record(long[] state, long atMicros, long units) {
    Counted then = new Counted(state, atMicros, 1, Mode.RECORD);
    then.write(state, Math.min(units, Math.max(0, rule.count() - then.current)));
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
  public boolean giveBack(
      long[] state, long stampMicros, int units, int taken, long departureParts, long nowMicros) {
    long startMicros = state[at];
    int window = stampMicros >= startMicros ? at + 1 : at + 2;
    if (stampMicros < startMicros - windowMicros || state[window] == 0) {
      return false;
    }
    state[window] = Math.max(0, state[window] - units);
    return true;
  }

  @Override
  public long neededUntilMicros(long[] state) {
    return state[at] + 2 * windowMicros;
  }

  @Override
  public long spendableUntilMicros(long[] state, long nowMicros) {
    return state[at] + windowMicros;
  }

  private final class Counted extends CellReadout.Computed {

    private final long startMicros;
    private final long current;
    private final long previous;
    private final long pastMicros;
    private final long remainingBefore;

    Counted(long[] state, long nowMicros, int cost, Mode mode) {
      super(rule.count(), cost, mode);
      startMicros = beginMicros(nowMicros);
      if (startMicros == state[at]) {
        current = state[at + 1];
        previous = state[at + 2];
      } else {
        current = 0;
        previous = startMicros - windowMicros == state[at] ? state[at + 1] : 0;
      }
      pastMicros = nowMicros - startMicros;
      remainingBefore = count - current - weight(previous, pastMicros);
    }

    @Override
    public long remainingBefore() {
      return remainingBefore;
    }

    @Override
    long microsUntilLeft(long wanted, long taken) {
      long used = current + taken;
      long room = count - wanted;
      // Without room the window has to end; then these units may, because of rounding, count one
      // more.
      return room > used
          ? until(previous, room - used) - pastMicros
          : windowMicros - pastMicros + until(used, room);
    }

    @Override
    long microsUntilMore(long taken) {
      return current + taken + previous == 0
          ? windowMicros
          : microsUntilLeft(remainingBefore - taken + 1, taken);
    }

    @Override
    long microsUntilReplenished(long taken) {
      if (current + taken > 0) {
        return 2 * windowMicros - pastMicros;
      }
      return previous > 0 ? windowMicros - pastMicros : 0;
    }

    @Override
    void write(long[] state, long taken) {
      state[at] = startMicros;
      state[at + 1] = current + taken;
      state[at + 2] = previous;
    }
  }
}
