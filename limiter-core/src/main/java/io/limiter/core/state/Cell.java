// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindow;
import io.limiter.core.rule.LeakyBucket;
import io.limiter.core.rule.LoggedRule;
import io.limiter.core.rule.Micros;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounter;
import io.limiter.core.rule.TokenBucket;
import io.limiter.core.store.Mode;
import java.time.Duration;
import java.util.Arrays;

/**
 * What is remembered under one rule that keeps numbers instead of a log. Immutable: a call that is
 * admitted puts another in its place. Times are microseconds in the time of the key.
 */
public sealed interface Cell
    permits CounterCell, WindowCell, GreedyCell, IntervalCell, LeakyCell, CustomCell {

  /** The numbers that a script keeps of a {@link LeakyBucket}. */
  int LEAKY_SIZE = 2 + Gaps.MOST;

  /** The longest time that a cell is kept for beside those of other rules: a power of two. */
  int MOST_EXPONENT = 27;

  /**
   * The most cells of all stacks together that one key has, but for the one that describes them.
   */
  int MOST_CELLS = 14;

  /** The most bytes that a script takes for cells. */
  int MOST_BYTES = 1_023;

  /** The time that a cell is needed for after it was written, in microseconds. */
  static long memoryMicros(Rule rule) {
    long window = Micros.of(rule.window());
    if (rule instanceof CustomRule custom) {
      return Micros.of(custom.memory());
    }
    if (rule instanceof LeakyBucket leaky) { // of a call that costs more the script tells itself
      return Micros.of(leaky.maxWait()) + ceil(window, leaky.count());
    }
    if (rule instanceof FixedWindow fixed && fixed.alignment().isPresent()) {
      return window + Micros.of(Duration.ofHours(2)); // clocks may be set back meanwhile
    }
    if (rule instanceof TokenBucket bucket) {
      return Math.max(window, Micros.of(bucket.memory()));
    }
    return rule instanceof SlidingWindowCounter ? 2 * window : window;
  }

  /**
   * No cell is needed for longer after it was written, whatever a call has cost; microseconds. Of a
   * leaky bucket its whole queue may wait.
   */
  static long longestMemoryMicros(Rule rule) {
    long own = memoryMicros(rule);
    return rule instanceof LeakyBucket leaky
        ? own + ceil((leaky.queue() + 1) * Micros.of(leaky.window()), leaky.count())
        : own;
  }

  /** The longest time that a ban may be needed for after the first violation; microseconds. */
  static long memoryMicros(BanRule ban) {
    return Math.max(2 * Micros.of(ban.longest()), Micros.of(ban.within()));
  }

  /** The least power of two whose seconds are no shorter than that. */
  static int exponent(long micros) {
    long seconds = ceil(Math.max(1, micros), 1_000_000);
    return Math.min(MOST_EXPONENT, Long.SIZE - Long.numberOfLeadingZeros(seconds - 1));
  }

  /** The cell of a rule that was never used. */
  static Cell unused(Rule rule) {
    if (rule instanceof SlidingWindowCounter counter) {
      return new CounterCell(Micros.of(counter.window()), 0, 0, 0);
    }
    if (rule instanceof FixedWindow fixed) {
      return new WindowCell(fixed, 0, 0, 0);
    }
    if (rule instanceof TokenBucket bucket) {
      return bucket.greedy() ? GreedyCell.unused(bucket) : new IntervalCell(bucket, false, 0, 0);
    }
    if (rule instanceof LeakyBucket leaky) {
      return LeakyCell.unused(leaky);
    }
    if (rule instanceof CustomRule custom) {
      return new CustomCell(custom, 0, null);
    }
    throw new IllegalArgumentException("A log has no cell: " + (LoggedRule) rule);
  }

  /**
   * The cell of a rule as a Redis script keeps it.
   *
   * @param unused the rule's {@link #unused} cell, which is made once
   * @param now the time of the key; an aligned window is that in which it lies
   * @param numbers the first is a time, and below 0 if the rule was never used
   */
  static Cell stored(Rule rule, Cell unused, long now, double[] numbers) {
    if (!(numbers[0] >= 0 && numbers[0] <= now)) {
      return unused;
    }
    long first = (long) numbers[0];
    if (rule instanceof SlidingWindowCounter counter) {
      long window = Micros.of(counter.window());
      return new CounterCell(window, first, units(numbers[1]), units(numbers[2]));
    }
    if (rule instanceof FixedWindow fixed) {
      return WindowCell.stored(fixed, now, first, units(numbers[1]));
    }
    if (unused instanceof GreedyCell bucket) {
      return bucket.begun(first, units(numbers[1]));
    }
    if (unused instanceof LeakyCell leaky) {
      return leaky.stored(first, units(numbers[1]), numbers);
    }
    if (rule instanceof TokenBucket bucket) {
      return new IntervalCell(bucket, true, first, units(numbers[1]));
    }
    if (rule instanceof CustomRule custom) {
      return new CustomCell(custom, first, Arrays.copyOfRange(numbers, 1, numbers.length));
    }
    throw new IllegalArgumentException("A log has no cell: " + (LoggedRule) rule);
  }

  /**
   * The cell of a rule of which so many units are used at a time, by the verdict of another store.
   *
   * @param now the time of the key
   * @param returnsAfter the time until the first units come back
   * @param resetsAfter the time until the rule is as if never used
   */
  static Cell used(Rule rule, long used, long now, long returnsAfter, long resetsAfter) {
    Cell unused = unused(rule);
    if (unused instanceof CounterCell) {
      long window = Micros.of(rule.window());
      return new CounterCell(window, Math.floorDiv(now, window) * window, used, 0);
    }
    if (unused instanceof WindowCell && rule instanceof FixedWindow fixed) {
      long window = Micros.of(fixed.window());
      if (fixed.alignment().isEmpty()) {
        return new WindowCell(fixed, now + resetsAfter - window, now + resetsAfter, used);
      }
    }
    if (unused instanceof GreedyCell bucket) {
      return bucket.begun(now, Math.min(used * bucket.unit(), resetsAfter * bucket.rate()));
    }
    if (unused instanceof IntervalCell && rule instanceof TokenBucket bucket) {
      long interval = Micros.of(bucket.interval());
      return new IntervalCell(
          bucket, true, now - interval + Math.min(interval, returnsAfter), used);
    }
    int units = (int) Math.min(Integer.MAX_VALUE, used);
    return unused.read(rule, now, units, Mode.RECORD).taken();
  }

  /**
   * The cell of a rule that starts from what one of its {@link #kind} has counted under other
   * numbers. Where it is not known when some units were used, they count as late as they can have
   * been.
   *
   * @param now the time of the key
   * @param newest when any of its cells was last written
   */
  static Cell started(Rule rule, Cell former, long now, long newest) {
    Cell unused = unused(rule);
    if (unused instanceof CounterCell counter && former instanceof CounterCell other) {
      return counter.from(other, now, newest);
    }
    if (unused instanceof WindowCell && former instanceof WindowCell other) {
      WindowCell started = WindowCell.stored((FixedWindow) rule, now, other.start(), other.used());
      return started.used() > 0 && now < started.end() ? started : unused;
    }
    if (unused instanceof GreedyCell bucket) {
      long parts = parts(former, bucket.unit(), rule.count() * bucket.unit());
      return parts > 0 ? bucket.begun(former.time(), parts) : unused;
    }
    if (unused instanceof IntervalCell) {
      long tokens = parts(former, 1, rule.count());
      return tokens > 0
          ? new IntervalCell((TokenBucket) rule, true, former.time(), tokens)
          : unused;
    }
    if (unused instanceof LeakyCell bucket) {
      long parts = parts(former, bucket.unit(), bucket.most());
      return parts > 0 ? bucket.begun(former.time(), parts) : unused;
    }
    return unused;
  }

  /** What is missing from another bucket, or ahead in it, in parts of this one. */
  private static long parts(Cell former, long unit, long most) {
    long theirs = former.scale();
    long whole = former.missing() / theirs;
    long broken = former.missing() - whole * theirs;
    long rest = (long) Math.ceil((double) broken * (double) unit / (double) theirs);
    return Math.min(Math.min(whole, ceil(most, unit)) * unit + rest, most);
  }

  /** What something else has written is none. */
  private static long units(double number) {
    return number > 0 && number < 0x1p53 ? (long) number : 0;
  }

  /** The algorithms whose rules may start from each other's cells; 0 if there is no other. */
  default int kind() {
    return 0;
  }

  /** Parts of a token or place, or the window of a counter in microseconds. */
  default long scale() {
    return 0;
  }

  /** Of a bucket, what was missing from it at its {@link #time}, or ahead. */
  default long missing() {
    return 0;
  }

  /** The first of its numbers; below 0 if it was never used. */
  long time();

  /** How many numbers a script keeps. */
  default int size() {
    return 2;
  }

  /** For how long it may be needed after its {@link #time}; microseconds. */
  long memoryMicros();

  /** Whether the numbers mean the same under this rule: it is alike in all but name and count. */
  boolean serves(Rule rule);

  /** The same numbers under a rule that it {@link #serves}: they may be needed for longer. */
  default Cell under(Rule rule) {
    return this;
  }

  /** Reads it for one call, under a rule that it {@link #serves}. */
  CellReadout read(Rule rule, long now, int cost, Mode mode);

  /**
   * With units that were taken at an earlier time by what decided in this store's place, as far as
   * there is room for them.
   */
  default Cell recorded(Rule rule, long at, int units) {
    return read(rule, at, units, Mode.RECORD).taken();
  }

  /**
   * Without all or some of the units that a call took: as far as they are still in it, and have not
   * come back already. Where units come back with time, those that have come back were the others
   * first. This very cell, if none is.
   *
   * @param stamp when the call was admitted
   * @param taken all units that the call took, {@code units} or more
   */
  Cell giveBack(long stamp, int units, int taken);

  /**
   * The same of a call that may still wait: it gives up its departure if it gives back all.
   *
   * @param rule under which the units were taken, one that it {@link #serves}
   * @param waits as {@link CellReadout#departure}
   * @param now the time of the key
   */
  default Cell giveBack(Rule rule, long stamp, int units, int taken, long waits, long now) {
    return giveBack(stamp, units, taken);
  }

  /** The time from which on it is as if never used, unless rules change. */
  long neededUntil();

  /** The quotient rounded up; of numbers that are not negative. */
  static long ceil(long dividend, long divisor) {
    return dividend / divisor + (dividend % divisor == 0 ? 0 : 1);
  }
}
