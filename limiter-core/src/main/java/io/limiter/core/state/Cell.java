// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Micros;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.Rule.LoggedRule;
import io.limiter.core.rule.SlidingWindowCounter;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.core.store.Mode;
import java.time.Duration;
import java.util.Arrays;

/**
 * The state of one rule that keeps numbers instead of a log. Immutable: an admitted call replaces
 * it by another. Times are microseconds on the clock of the key.
 */
public sealed interface Cell
    permits CounterCell, WindowCell, GreedyCell, IntervalCell, LeakyCell, CustomCell {

  /** The number of values that a script stores for a {@link LeakyBucketRule}. */
  int LEAKY_SIZE = 3;

  /**
   * The binary logarithm of the longest time, in seconds, for which a cell is kept beside those of
   * other rules.
   */
  int MOST_EXPONENT = 27;

  /** The most cells of all stacks under one key, without the one that describes them. */
  int MOST_CELLS = 14;

  /** The most bytes that a script uses for cells. */
  int MOST_BYTES = 1_023;

  /** The time for which a cell is needed after it was written. */
  static long memoryMicros(Rule rule) {
    long window = Micros.of(rule.window());
    if (rule instanceof CustomRule custom) {
      return Micros.of(custom.memory());
    }
    if (rule
        instanceof
        LeakyBucketRule leaky) { // for a call that costs more, the script computes the time itself
      return Micros.of(leaky.maxWait()) + ceil(window, leaky.count());
    }
    if (rule instanceof FixedWindowRule fixed && fixed.alignment().isPresent()) {
      return window + Micros.of(Duration.ofHours(2)); // clocks may be set back in the meantime
    }
    if (rule instanceof TokenBucketRule bucket) {
      return Math.max(window, Micros.of(bucket.memory()));
    }
    return rule instanceof SlidingWindowCounter ? 2 * window : window;
  }

  /**
   * The longest time for which a cell can be needed after it was written, whatever a call has cost.
   * In a leaky bucket, the whole queue may be waiting.
   */
  static long longestMemoryMicros(Rule rule) {
    long own = memoryMicros(rule);
    return rule instanceof LeakyBucketRule leaky
        ? own + ceil((leaky.queue() + 1) * Micros.of(leaky.window()), leaky.count())
        : own;
  }

  /** The longest time for which the state of a ban can be needed after the first violation. */
  static long memoryMicros(BanRule ban) {
    return Math.max(2 * Micros.of(ban.longest()), Micros.of(ban.within()));
  }

  /** The exponent of the smallest power of two, in seconds, that is at least this time. */
  static int exponent(long micros) {
    long seconds = ceil(Math.max(1, micros), 1_000_000);
    return Math.min(MOST_EXPONENT, Long.SIZE - Long.numberOfLeadingZeros(seconds - 1));
  }

  /** The cell of a rule that is fully replenished. */
  static Cell unused(Rule rule) {
    if (rule instanceof SlidingWindowCounter counter) {
      return new CounterCell(Micros.of(counter.window()), 0, 0, 0);
    }
    if (rule instanceof FixedWindowRule fixed) {
      return new WindowCell(fixed, 0, 0, 0);
    }
    if (rule instanceof TokenBucketRule bucket) {
      return bucket.greedy() ? GreedyCell.unused(bucket) : new IntervalCell(bucket, false, 0, 0);
    }
    if (rule instanceof LeakyBucketRule leaky) {
      return LeakyCell.unused(leaky);
    }
    if (rule instanceof CustomRule custom) {
      return new CustomCell(custom, 0, null);
    }
    throw new IllegalArgumentException("A log has no cell: " + (LoggedRule) rule);
  }

  /**
   * Creates the cell of a rule from the values that a Redis script stores.
   *
   * @param unused the rule's {@link #unused} cell, which is created once
   * @param nowMicros the time of the key; an aligned window is the one that contains it
   * @param numbers the first is a time, and below 0 if the rule is fully replenished
   */
  static Cell stored(Rule rule, Cell unused, long nowMicros, double[] numbers) {
    if (!(numbers[0] >= 0 && numbers[0] <= nowMicros)) {
      return unused;
    }
    long first = (long) numbers[0];
    if (rule instanceof SlidingWindowCounter counter) {
      long window = Micros.of(counter.window());
      return new CounterCell(window, first, units(numbers[1]), units(numbers[2]));
    }
    if (rule instanceof FixedWindowRule fixed) {
      return WindowCell.stored(fixed, nowMicros, first, units(numbers[1]));
    }
    if (unused instanceof GreedyCell bucket) {
      return bucket.begun(first, units(numbers[1]));
    }
    if (unused instanceof LeakyCell leaky) {
      return leaky.stored(first, units(numbers[1]), numbers);
    }
    if (rule instanceof TokenBucketRule bucket) {
      return new IntervalCell(bucket, true, first, units(numbers[1]));
    }
    if (rule instanceof CustomRule custom) {
      return new CustomCell(custom, first, Arrays.copyOfRange(numbers, 1, numbers.length));
    }
    throw new IllegalArgumentException("A log has no cell: " + (LoggedRule) rule);
  }

  /**
   * Creates the cell of a rule from a verdict of another store.
   *
   * @param used units that are used
   * @param nowMicros the time of the key
   * @param returnsAfterMicros the time until the first units come back
   * @param resetsAfterMicros the time until the rule is fully replenished
   */
  static Cell used(
      Rule rule, long used, long nowMicros, long returnsAfterMicros, long resetsAfterMicros) {
    Cell unused = unused(rule);
    if (unused instanceof CounterCell) {
      long window = Micros.of(rule.window());
      return new CounterCell(window, Math.floorDiv(nowMicros, window) * window, used, 0);
    }
    if (unused instanceof WindowCell && rule instanceof FixedWindowRule fixed) {
      long window = Micros.of(fixed.window());
      if (fixed.alignment().isEmpty()) {
        return new WindowCell(
            fixed, nowMicros + resetsAfterMicros - window, nowMicros + resetsAfterMicros, used);
      }
    }
    if (unused instanceof GreedyCell bucket) {
      return bucket.begun(
          nowMicros, Math.min(used * bucket.unit(), resetsAfterMicros * bucket.rate()));
    }
    if (unused instanceof IntervalCell && rule instanceof TokenBucketRule bucket) {
      long interval = Micros.of(bucket.interval());
      return new IntervalCell(
          bucket, true, nowMicros - interval + Math.min(interval, returnsAfterMicros), used);
    }
    int units = (int) Math.min(Integer.MAX_VALUE, used);
    return unused.read(rule, nowMicros, units, Mode.RECORD).taken();
  }

  /**
   * Creates the cell of a rule from a cell of the same {@link #kind} with other numbers. Units
   * whose time is unknown count as taken as late as possible.
   *
   * @param nowMicros the time of the key
   * @param newestMicros when any cell of the key was last written
   */
  static Cell started(Rule rule, Cell former, long nowMicros, long newestMicros) {
    Cell unused = unused(rule);
    if (unused instanceof CounterCell counter && former instanceof CounterCell other) {
      return counter.from(other, nowMicros, newestMicros);
    }
    if (unused instanceof WindowCell && former instanceof WindowCell other) {
      WindowCell started =
          WindowCell.stored((FixedWindowRule) rule, nowMicros, other.start(), other.used());
      return started.used() > 0 && nowMicros < started.end() ? started : unused;
    }
    if (unused instanceof GreedyCell bucket) {
      long parts = parts(former, bucket.unit(), rule.count() * bucket.unit());
      return parts > 0 ? bucket.begun(former.timeMicros(), parts) : unused;
    }
    if (unused instanceof IntervalCell) {
      long tokens = parts(former, 1, rule.count());
      return tokens > 0
          ? new IntervalCell((TokenBucketRule) rule, true, former.timeMicros(), tokens)
          : unused;
    }
    if (unused instanceof LeakyCell bucket) {
      long parts = parts(former, bucket.unit(), bucket.mostParts());
      return parts > 0 ? bucket.begun(former.timeMicros(), parts) : unused;
    }
    return unused;
  }

  /** Converts what is missing from another bucket, or queued in it, to parts of this one. */
  private static long parts(Cell former, long unit, long most) {
    long theirs = former.scale();
    long wholeUnits = former.missing() / theirs;
    long rest = former.missing() - wholeUnits * theirs;
    long restParts = (long) Math.ceil((double) rest * (double) unit / (double) theirs);
    return Math.min(Math.min(wholeUnits, ceil(most, unit)) * unit + restParts, most);
  }

  /** An invalid number was not written by this library, and counts as 0. */
  private static long units(double number) {
    return number > 0 && number < 0x1p53 ? (long) number : 0;
  }

  /** Identifies algorithms whose rules may start from each other's cells; 0 if there are none. */
  default int kind() {
    return 0;
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

  /** How long the cell may be needed after its {@link #timeMicros}. */
  long memoryMicros();

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

  /** The quotient rounded up; for numbers that are not negative. */
  static long ceil(long dividend, long divisor) {
    return dividend / divisor + (dividend % divisor == 0 ? 0 : 1);
  }
}
