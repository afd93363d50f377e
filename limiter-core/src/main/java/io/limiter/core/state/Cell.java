// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import io.limiter.core.rule.Rule;
import io.limiter.core.store.Mode;
import java.util.Arrays;

/**
 * The state of one rule that keeps numbers instead of a log. Immutable: an admitted call replaces
 * it by another. Times are microseconds on the clock of the key.
 */
public interface Cell {

  /** The number of bits for a number of departures; a script stores three such numbers as one. */
  int GAP_BITS = 17;

  /** The cell of a rule that is fully replenished. */
  static Cell unused(Rule rule) {
    for (CellAlgorithm algorithm : CellAlgorithm.ALL) {
      Cell cell = algorithm.unused(rule);
      if (cell != null) {
        return cell;
      }
    }
    throw new IllegalArgumentException("A log has no cell: " + rule);
  }

  /**
   * Converts stored parts to those of another rule of the same shape. Whole tokens, or whole
   * microseconds, stay whole; the rest is rounded up.
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

  /** An invalid number was not written by this library, and counts as 0. */
  static long units(double number) {
    return number < 0x1p53 ? (long) Math.max(0, number) : 0;
  }

  /** The algorithm of its rule. */
  CellAlgorithm algorithm();

  /**
   * The numbers for the script of its algorithm, which describes them.
   *
   * @param rule a rule of this cell's shape
   * @param wallMicros the wall clock
   */
  double[] plan(Rule rule, long wallMicros);

  /** Whether the {@link #plan} changes with the wall clock. */
  default boolean isZoned() {
    return false;
  }

  /** How long a cell is needed after it was written, if calls cost 1. */
  long memoryMicros();

  /**
   * Creates a cell from the values that a Redis script stores, for a rule of which this is the
   * unused cell.
   *
   * @param nowMicros the time of the key; an aligned window is the one that contains it
   * @param numbers the first is a time, and 0 if the rule is fully replenished
   */
  default Cell stored(long nowMicros, double[] numbers) {
    return numbers[0] > 0 && numbers[0] <= nowMicros
        ? withNumbers((long) numbers[0], numbers, nowMicros)
        : this;
  }

  /**
   * Returns this unused cell with stored values.
   *
   * @param firstMicros the first of the numbers, a time that is not in the future
   */
  Cell withNumbers(long firstMicros, double[] numbers, long nowMicros);

  /**
   * Creates a cell from a verdict of another store, for a rule of which this is the unused cell.
   *
   * @param used units that are used
   * @param nowMicros the time of the key
   * @param returnsAfterMicros the time until the first units come back
   * @param resetsAfterMicros the time until the rule is fully replenished
   */
  default Cell used(
      Rule rule, long used, long nowMicros, long returnsAfterMicros, long resetsAfterMicros) {
    int units = (int) Math.min(Integer.MAX_VALUE, used);
    return read(rule, nowMicros, units, Mode.RECORD).taken();
  }

  /** The number of values that a script stores. */
  default int size() {
    return 2;
  }

  /** Returns the same values under another rule of this shape. */
  default Cell under(Rule rule) {
    return this;
  }

  /** Evaluates the cell for one call, under a rule of its shape. */
  CellReadout read(Rule rule, long nowMicros, int cost, Mode mode);

  /**
   * Evaluates the cell for units of a lease: they are taken now, and may be spent until later.
   *
   * @param leaseMicros how much later, or until {@link #spendableUntilMicros} if that is earlier
   */
  default CellReadout lease(Rule rule, long nowMicros, int units, long leaseMicros) {
    return read(rule, nowMicros, units, Mode.ACQUIRE);
  }

  /**
   * When the period ends in which the units of this cell were taken: a lease ends with it, so that
   * no unit is spent in a period that does not count it. {@link Long#MAX_VALUE} without periods.
   *
   * @param nowMicros when they were taken
   */
  default long spendableUntilMicros(long nowMicros) {
    return Long.MAX_VALUE;
  }

  /**
   * Returns this cell, which {@link #used} created, with units that were taken before the verdict
   * arrived. They may be among the used ones, or younger.
   *
   * @param verdictMicros when it arrived
   */
  default Cell withEarlier(Rule rule, long verdictMicros, int units) {
    return recorded(rule, verdictMicros, units);
  }

  /**
   * Returns this cell with units that another store took earlier in place of this one, up to the
   * rule's limit.
   */
  default Cell recorded(Rule rule, long atMicros, int units) {
    return read(rule, atMicros, units, Mode.RECORD).taken();
  }

  /**
   * Returns this cell without some or all units that a call took, as far as they are still in it
   * and have not come back with time. Units of other calls are assumed to have come back first. A
   * call that may still be waiting gives up its departure if it gives back all its units. Returns
   * this same object if nothing changes.
   *
   * @param rule the rule under which the units were taken, one of this cell's shape
   * @param stampMicros when the call was admitted
   * @param taken all units that the call took, {@code units} or more
   * @param departureParts see {@link CellReadout#departureParts}
   * @param nowMicros the time of the key
   */
  Cell giveBack(
      Rule rule, long stampMicros, int units, int taken, long departureParts, long nowMicros);

  /** The time from which the rule is fully replenished, unless rules change. */
  long neededUntilMicros();

  /** Numbers for a script. */
  static double[] doubles(long... numbers) {
    return Arrays.stream(numbers).asDoubleStream().toArray();
  }

  /** The quotient rounded up; for numbers that are not negative. */
  static long ceil(long dividend, long divisor) {
    return dividend / divisor + (dividend % divisor == 0 ? 0 : 1);
  }
}
