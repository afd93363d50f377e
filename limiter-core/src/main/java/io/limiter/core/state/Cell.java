// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.store.Mode;
import java.util.Arrays;

/**
 * The state of one rule that keeps numbers instead of a log. Immutable: an admitted call replaces
 * it by another. Times are microseconds on the clock of the key.
 */
public interface Cell {

  /** The number of values that a script stores for a ban. */
  int BAN_SIZE = 4;

  /** The number of bits for a number of departures; a script stores three such numbers as one. */
  int GAP_BITS = 17;

  /**
   * The binary logarithm of the longest time, in seconds, for which a cell is kept beside those of
   * other rules.
   */
  int MOST_EXPONENT = 27;

  /** The most cells of all stacks under one key, without the one that describes them. */
  int MOST_CELLS = 14;

  /** The most bytes that a script uses for cells. */
  int MOST_BYTES = 1_023;

  /** The longest time for which the state of a ban can be needed after the first violation. */
  static long memoryMicros(BanRule ban) {
    return Math.max(2 * MICROSECONDS.convert(ban.longest()), MICROSECONDS.convert(ban.within()));
  }

  /** The exponent of the smallest power of two, in seconds, that is at least this time. */
  static int exponent(long micros) {
    long seconds = ceil(Math.max(1, micros), 1_000_000);
    return Math.min(MOST_EXPONENT, Long.SIZE - Long.numberOfLeadingZeros(seconds - 1));
  }

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

  /** Converts what is missing from another bucket, or queued in it, to parts of this one. */
  static long parts(Cell former, long unit, long most) {
    long theirs = former.scale();
    long wholeUnits = former.missing() / theirs;
    long rest = former.missing() - wholeUnits * theirs;
    long restParts = (long) Math.ceil((double) rest * (double) unit / (double) theirs);
    return Math.min(Math.min(wholeUnits, ceil(most, unit)) * unit + restParts, most);
  }

  /** An invalid number was not written by this library, and counts as 0. */
  static long units(double number) {
    return number < 0x1p53 ? (long) Math.max(0, number) : 0;
  }

  /** The algorithm of its rule. */
  CellAlgorithm algorithm();

  /**
   * The numbers that the script of its algorithm gets; they are described there.
   *
   * @param rule a rule that this cell {@link #serves}
   * @param wallMicros the wall clock
   */
  double[] plan(Rule rule, long wallMicros);

  /** Whether the {@link #plan} changes with the wall clock. */
  default boolean isZoned() {
    return false;
  }

  /**
   * The meaning of the stored values: cells of rules for which it is the same {@linkplain #serves
   * serve} each other. Numbers that only move a limit are left out. Redis stores its fingerprint.
   */
  String meaning();

  /** How long a cell is needed after it was written, if calls cost 1. */
  long memoryMicros();

  /** How long a cell may be needed after it was written, whatever a call has cost. */
  default long longestMemoryMicros() {
    return memoryMicros();
  }

  /**
   * Creates a cell from the values that a Redis script stores, for a rule of which this is the
   * unused cell.
   *
   * @param nowMicros the time of the key; an aligned window is the one that contains it
   * @param numbers the first is a time, and below 0 if the rule is fully replenished
   */
  default Cell stored(long nowMicros, double[] numbers) {
    return numbers[0] >= 0 && numbers[0] <= nowMicros
        ? withNumbers((long) numbers[0], numbers, nowMicros)
        : this;
  }

  /**
   * Returns this unused cell with stored values.
   *
   * @param firstMicros the first of the numbers, a time that has come
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

  /**
   * Creates a cell from one of the same {@linkplain CellAlgorithm#kind kind} with other numbers,
   * for a rule of which this is the unused cell. Units whose time is unknown count as taken as late
   * as possible.
   *
   * @param nowMicros the time of the key
   * @param newestMicros when any cell of the key was last written
   */
  default Cell startedFrom(Cell former, long nowMicros, long newestMicros) {
    return this;
  }

  /** The parts of a token or place, or the window of a counter in microseconds. */
  default long scale() {
    return 0;
  }

  /** For a bucket, the parts that were missing from it, or queued, at its {@link #timeMicros}. */
  default long missing() {
    return 0;
  }

  /** The first of the stored values; below 0 if the rule is fully replenished. */
  long timeMicros();

  /** The number of values that a script stores. */
  default int size() {
    return 2;
  }

  /** Whether the values mean the same under this rule: it differs in name and count only. */
  boolean serves(Rule rule);

  /**
   * Returns the same values under a rule that the cell {@link #serves}; they may be needed for
   * longer.
   */
  default Cell under(Rule rule) {
    return this;
  }

  /** Evaluates the cell for one call, under a rule that it {@link #serves}. */
  CellReadout read(Rule rule, long nowMicros, int cost, Mode mode);

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
   * and have not come back with time. Units of other calls are assumed to have come back first.
   * Returns this same object if nothing changes.
   *
   * @param stampMicros when the call was admitted
   * @param taken all units that the call took, {@code units} or more
   */
  Cell giveBack(long stampMicros, int units, int taken);

  /**
   * Like {@link #giveBack(long, int, int)}, for a call that may still be waiting: if it gives back
   * all its units, it gives up its departure.
   *
   * @param rule the rule under which the units were taken, one that the cell {@link #serves}
   * @param departureParts see {@link CellReadout#departureParts}
   * @param nowMicros the time of the key
   */
  default Cell giveBack(
      Rule rule, long stampMicros, int units, int taken, long departureParts, long nowMicros) {
    return giveBack(stampMicros, units, taken);
  }

  /** The time from which on the rule is fully replenished, unless rules change. */
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
