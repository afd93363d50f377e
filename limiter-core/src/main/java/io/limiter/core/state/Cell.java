// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import io.limiter.core.Charge;
import io.limiter.core.Mode;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.TokenBucketRule;
import java.util.Arrays;

/**
 * The numbers that one rule keeps instead of a log: their place in the state of its stack, and
 * their arithmetic. The state is one array with the numbers of all {@link Cells} of the stack;
 * memory keeps the numbers that a Redis script stores. A cell itself is immutable and serves all
 * subjects. Times are microseconds on the clock of the key.
 */
public abstract class Cell {

  /** The index of the first of its numbers. */
  final int at;

  private final CellAlgorithm algorithm;
  private final int size;

  Cell(int at, CellAlgorithm algorithm, int size) {
    this.at = at;
    this.algorithm = algorithm;
    this.size = size;
  }

  /** The cell of a rule, whose numbers begin at this index. */
  static Cell of(Rule rule, int at) {
    if (rule instanceof TokenBucketRule bucket) {
      return new BucketCell(bucket, at);
    }
    if (rule instanceof FixedWindowRule window) {
      return new WindowCell(window, at);
    }
    if (rule instanceof SlidingWindowCounterRule counter) {
      return new CounterCell(counter, at);
    }
    if (rule instanceof LeakyBucketRule bucket) {
      return new LeakyCell(bucket, at);
    }
    if (rule instanceof CustomRule custom) {
      return new CustomCell(custom, at);
    }
    throw new IllegalArgumentException("A log has no cell: " + rule);
  }

  public final CellAlgorithm algorithm() {
    return algorithm;
  }

  /** The index of the first of its numbers. */
  public final int at() {
    return at;
  }

  /** The number of its values. */
  public final int size() {
    return size;
  }

  /** The numbers for the script of its algorithm, which describes them, by the wall clock. */
  public abstract double[] plan(long wallMicros);

  /** Whether the {@link #plan} changes with the wall clock. */
  public boolean isZoned() {
    return false;
  }

  /** How long the numbers are needed after they were written, if calls cost 1. */
  public abstract long memoryMicros();

  /** Sets the numbers to those of a rule that is fully replenished. */
  void clear(long[] state) {
    Arrays.fill(state, at, at + size, 0);
  }

  /**
   * Sets the numbers to those that a script stores. What this library cannot have written counts as
   * 0.
   *
   * @param numbers those of all cells; the first of a cell is a time, and 0 if the rule is fully
   *     replenished
   * @param nowMicros the time of the key
   */
  public final void set(long[] state, double[] numbers, long nowMicros) {
    double first = numbers[at];
    if (!(first > 0 && first <= nowMicros)) {
      clear(state);
      return;
    }
    state[at] = (long) first;
    for (int i = at + 1; i < at + size; i++) {
      state[i] = number(numbers[i]);
    }
  }

  /** A number after the first, as the state holds it. */
  long number(double stored) {
    return stored < 0x1p53 ? (long) Math.max(0, stored) : 0;
  }

  /**
   * Sets the numbers by a verdict of another store.
   *
   * @param used units that are used
   * @param nowMicros the time of the key
   * @param returnsAfterMicros the time until the first units come back
   * @param resetsAfterMicros the time until the rule is fully replenished
   */
  public void use(
      long[] state, long used, long nowMicros, long returnsAfterMicros, long resetsAfterMicros) {
    clear(state);
    record(state, nowMicros, used);
  }

  /** Evaluates the numbers for one call. */
  public abstract CellReadout read(long[] state, long nowMicros, int cost, Mode mode);

  /**
   * Evaluates the numbers for units that are taken in advance.
   *
   * @param leaseMicros for how long they may be spent
   */
  public CellReadout readLease(long[] state, long nowMicros, int cost, long leaseMicros) {
    return read(state, nowMicros, cost, Mode.ACQUIRE);
  }

  /**
   * When the period ends in which units were taken: a lease ends with it, so that no unit is spent
   * in a period that does not count it. {@link Long#MAX_VALUE} without periods.
   *
   * @param state that in which they are taken
   * @param nowMicros when they were taken
   */
  public long spendableUntilMicros(long[] state, long nowMicros) {
    return Long.MAX_VALUE;
  }

  /** Adds units that another store took earlier, up to the rule's limit. */
  public void record(long[] state, long atMicros, long units) {
    int cost = (int) Math.min(Charge.MAX_COST, units); // enough for rules with smaller counts
    read(state, atMicros, cost, Mode.RECORD).consume(state);
  }

  /**
   * Adds units that were taken before a verdict arrived, from which {@link #use} has set the
   * numbers. They may be among the used ones, or younger.
   *
   * @param verdictMicros when it arrived
   */
  public void recordEarlier(long[] state, long verdictMicros, long units) {
    record(state, verdictMicros, units);
  }

  /**
   * Removes some or all units that a call took under this rule, as far as they are still counted
   * and have not come back with time. Units of other calls are assumed to have come back first. A
   * call that may still be waiting gives up its departure if it gives back all its units.
   *
   * @param stampMicros when the call was admitted
   * @param taken all units that the call took, {@code units} or more
   * @param departureParts see {@link CellReadout#departureParts}
   * @param nowMicros the time of the key
   * @return whether anything changed
   */
  public abstract boolean giveBack(
      long[] state, long stampMicros, int units, int taken, long departureParts, long nowMicros);

  /** The time from which the rule is fully replenished, unless rules change. */
  public abstract long neededUntilMicros(long[] state);

  /**
   * Converts parts to those of another rule of the same shape. Whole tokens, or whole microseconds,
   * stay whole; the rest is rounded up.
   *
   * @param scale parts of one token or microsecond in which {@code parts} is given; less than 1 if
   *     it was not written by this library
   */
  static long parts(long parts, long scale, long wanted) {
    if (scale == wanted || parts == 0) {
      return parts;
    }
    if (scale < 1) {
      return 0;
    }
    long whole = parts / scale;
    double rest = Math.ceil((double) (parts - whole * scale) * (double) wanted / (double) scale);
    return (long) Math.min((double) whole * (double) wanted + rest, 0x1p53 - 1);
  }

  /** Numbers for a script. */
  static double[] doubles(long... numbers) {
    return Arrays.stream(numbers).asDoubleStream().toArray();
  }

  /** The quotient rounded up; for numbers that are not negative. */
  static long ceil(long dividend, long divisor) {
    return dividend / divisor + (dividend % divisor == 0 ? 0 : 1);
  }
}
