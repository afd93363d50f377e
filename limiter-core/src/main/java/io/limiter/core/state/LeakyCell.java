// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.store.Mode;
import java.math.BigInteger;
import org.jspecify.annotations.Nullable;

/**
 * The cell of a {@link LeakyBucketRule}. It stores the time until the next free departure, in parts
 * of a microsecond chosen so that an interval is a whole number of them. The departures before that
 * are one interval apart, back to the present, so they are not stored; those that were given up
 * are, as one {@link Gap}.
 *
 * @param unit parts between two departures
 * @param rate parts of a microsecond
 * @param lastMicros when a departure was last handed out
 * @param ahead the parts from then until the next free departure
 * @param gap the departures before it that were given up
 */
record LeakyCell(LeakyBucketRule rule, long unit, long rate, long lastMicros, long ahead, Gap gap)
    implements Cell {

  static @Nullable Cell unused(Rule rule) {
    return rule instanceof LeakyBucketRule bucket ? of(bucket) : null;
  }

  private static LeakyCell of(LeakyBucketRule bucket) {
    long micros = MICROSECONDS.convert(bucket.window());
    long divisor =
        BigInteger.valueOf(micros).gcd(BigInteger.valueOf(bucket.count())).longValueExact();
    return new LeakyCell(bucket, micros / divisor, bucket.count() / divisor, 0, 0, Gap.NONE);
  }

  @Override
  public CellAlgorithm algorithm() {
    return CellAlgorithm.LEAKY_BUCKET;
  }

  @Override
  public double[] plan(Rule planned, long wallMicros) {
    return Cell.doubles(unit, rate, rule.queue(), longestWaitParts(), rule.fair() ? 1 : 0);
  }

  @Override
  public Cell withNumbers(long firstMicros, double[] numbers, long nowMicros) {
    long scale = Cell.units(numbers[3]);
    long parts = Cell.parts(Cell.units(numbers[1]), scale, rate);
    Gap stored = scale == rate ? Gap.stored(numbers[2]) : Gap.NONE;
    return new LeakyCell(rule, unit, rate, firstMicros, parts, stored);
  }

  @Override
  public int size() {
    return 4;
  }

  /** For a call that costs more, the script computes the time itself. */
  @Override
  public long memoryMicros() {
    return MICROSECONDS.convert(rule.maxWait())
        + Cell.ceil(MICROSECONDS.convert(rule.window()), rule.count());
  }

  @Override
  public Cell under(Rule other) {
    if (other == rule) {
      return this;
    }
    LeakyCell theirs = of((LeakyBucketRule) other);
    return new LeakyCell(
        theirs.rule,
        theirs.unit,
        theirs.rate,
        lastMicros,
        Cell.parts(ahead, rate, theirs.rate),
        rate == theirs.rate ? gap : Gap.NONE);
  }

  @Override
  public CellReadout read(Rule reading, long nowMicros, int cost, Mode mode) {
    return new Waiting(((LeakyCell) under(reading)).at(nowMicros), cost, mode);
  }

  /**
   * The cell at the current time. If the queue is longer than any rule with these departures
   * allows, it was not written by this library, and its gap is ignored.
   */
  private LeakyCell at(long nowMicros) {
    long longest =
        Math.min(
                MICROSECONDS.convert(LeakyBucketRule.MAX_WAIT) * rate,
                LeakyBucketRule.MAX_DEPARTURES * unit)
            + (LeakyBucketRule.MAX_QUEUE + 1) * unit;
    long parts = Math.min(ahead, longest);
    long remainingParts =
        nowMicros - lastMicros > parts / rate ? 0 : parts - (nowMicros - lastMicros) * rate;
    Gap known = parts < ahead ? Gap.NONE : gap;
    return new LeakyCell(
        rule, unit, rate, nowMicros, remainingParts, known.of(departures(remainingParts)));
  }

  /** The number of departures still to come, if the next free one is this many parts away. */
  private long departures(long parts) {
    return Math.max(0, Cell.ceil(parts, unit) - 1);
  }

  /** The microseconds in which this many parts pass. */
  private long micros(long parts) {
    return Cell.ceil(Math.max(0, parts), rate);
  }

  private long longestWaitParts() {
    return MICROSECONDS.convert(rule.maxWait()) * rate;
  }

  /** Whether a call may take departures that were given up: a call of several units may not. */
  private boolean takesGap(int cost) {
    return cost == 1 && !rule.fair() && gap.isKnown();
  }

  /** The free units of the queue, and the departure of a call that finds it empty. */
  private long freeUnits() {
    return rule.queue() + 1 - Cell.ceil(ahead, unit) + gap.free();
  }

  /** The departures after all others that are within the longest wait. */
  private long behindInTime() {
    long room = longestWaitParts() - ahead;
    return room < 0 ? 0 : room / unit + 1;
  }

  /** The departures that were given up and are within the longest wait. */
  private long gapInTime() {
    long later = Math.floorDiv(longestWaitParts() - ahead, unit);
    return Math.max(0, Math.min(gap.free(), gap.from() + later + 1));
  }

  /**
   * Units that are left for calls of this cost: free units whose departure is within the longest
   * wait.
   */
  long remaining(int cost) {
    return Math.min(freeUnits(), behindInTime() + (takesGap(cost) ? gapInTime() : 0));
  }

  /** Time until this many units are left for calls of this cost; at least 1. */
  long microsUntilLeft(long wanted, int cost) {
    // A unit becomes free when a waiting call departs; the last one when the next call could
    // depart.
    long missing = wanted - freeUnits();
    long micros = micros(ahead - gap.standing(missing, departures(ahead)) * unit);
    if (!takesGap(cost)) {
      return Math.max(micros, micros(ahead + (wanted - 1) * unit - longestWaitParts()));
    }
    LeakyCell then = after(micros);
    while (then.remaining(cost) < wanted) { // departures pass unused while others come into reach
      micros += then.microsUntilNextInTime(cost);
      then = after(micros);
    }
    return micros;
  }

  private LeakyCell after(long micros) {
    return at(lastMicros + micros);
  }

  /** Time until another departure is within the longest wait. */
  private long microsUntilNextInTime(int cost) {
    long reached = takesGap(cost) ? gapInTime() : gap.free();
    long next = reached < gap.free() ? reached - gap.from() : behindInTime();
    return micros(ahead + next * unit - longestWaitParts());
  }

  /** Time until more units are left than now; if all are, one interval. */
  long microsUntilMore(int cost) {
    long remaining = remaining(cost);
    return remaining < rule.capacity() ? microsUntilLeft(remaining + 1, cost) : micros(unit);
  }

  long microsUntilReplenished() {
    return micros(ahead);
  }

  /** The parts for which a call waits. */
  long partsUntilDeparture(int cost) {
    return takesGap(cost) ? ahead - gap.from() * unit : ahead;
  }

  /**
   * The cell after a call.
   *
   * @param units what it takes, which may be less than its cost
   */
  LeakyCell with(long units, int cost) {
    return units == 1 && takesGap(cost)
        ? new LeakyCell(rule, unit, rate, lastMicros, ahead, gap.withoutEarliest())
        : new LeakyCell(rule, unit, rate, lastMicros, ahead + units * unit, gap.moved(units));
  }

  /** A departure that has passed cannot be given back. */
  @Override
  public Cell giveBack(
      Rule under, long stampMicros, int units, int taken, long departureParts, long nowMicros) {
    return ((LeakyCell) under(under))
        .giveUp(stampMicros, units, taken, departureParts, nowMicros, this);
  }

  private Cell giveUp(
      long stampMicros, int units, int taken, long departureParts, long nowMicros, Cell unchanged) {
    if (units < taken
        || nowMicros - stampMicros >= micros(departureParts)
        || lastMicros < stampMicros) {
      return unchanged; // it has begun, or the state was reset in the meantime
    }
    long later = ahead - departureParts + (lastMicros - stampMicros) * rate;
    long from = later / unit;
    if (later % unit != 0 || from < units) {
      return unchanged; // another queue has begun in the meantime
    }
    Gap more = gap.of(departures(ahead - (nowMicros - lastMicros) * rate)).with(from, units);
    if (more == null) {
      return unchanged;
    }
    long takenBack = rule.fair() ? 0 : more.last();
    return takenBack == 0
        ? new LeakyCell(rule, unit, rate, lastMicros, ahead, more)
        : new LeakyCell(rule, unit, rate, lastMicros, ahead - takenBack * unit, Gap.NONE);
  }

  @Override
  public long neededUntilMicros() {
    return lastMicros + micros(ahead);
  }

  @Override
  public String toString() {
    return "LeakyCell[last=%s, ahead=%s, gap=%s]".formatted(lastMicros, ahead, gap);
  }

  private static final class Waiting extends CellReadout.Computed {

    private final LeakyCell cell;
    private final long remainingBefore;

    Waiting(LeakyCell cell, int cost, Mode mode) {
      super(cell.rule.capacity(), cost, mode);
      this.cell = cell;
      this.remainingBefore = cell.remaining(cost);
    }

    @Override
    public long remainingBefore() {
      return remainingBefore;
    }

    /** Units of departures that are too late for a call are left, and come into reach. */
    @Override
    long remainingAfter(long taken) {
      return with(taken).remaining(cost);
    }

    @Override
    long microsUntilLeft(long wanted, long taken) {
      return with(taken).microsUntilLeft(wanted, cost);
    }

    @Override
    long microsUntilMore(long taken) {
      return with(taken).microsUntilMore(cost);
    }

    @Override
    long microsUntilReplenished(long taken) {
      return with(taken).microsUntilReplenished();
    }

    @Override
    LeakyCell with(long taken) {
      return cell.with(taken, cost);
    }

    @Override
    public long delayMicros() {
      return cell.micros(cell.partsUntilDeparture(cost));
    }

    @Override
    public long departureParts() {
      return units() == 0 ? 0 : cell.partsUntilDeparture(cost);
    }
  }

  /**
   * The departures of a leaky bucket that abandoned calls gave up, as one series. Departures are
   * numbered backwards: 1 is the last that was handed out.
   *
   * <p>If others stand between those that were given up, the gap covers these too, and which ones
   * are free is unknown. It assumes the earliest, so that none counts as free for longer than it
   * is, and none is handed out again.
   *
   * @param from the number of the earliest departure
   * @param length the number of departures
   * @param free how many of them were given up
   */
  record Gap(long from, long length, long free) {

    static final Gap NONE = new Gap(0, 0, 0);

    private static Gap of(long from, long length, long free) {
      return free < 1 ? NONE : new Gap(from, length, free);
    }

    /** The gap that a script stores; none if it was not written by this library. */
    static Gap stored(double number) {
      long bits = Cell.units(number);
      long mask = (1L << GAP_BITS) - 1;
      Gap gap = of(bits >> (2 * GAP_BITS), (bits >> GAP_BITS) & mask, bits & mask);
      return gap.free > gap.length || gap.length > gap.from ? NONE : gap;
    }

    /** Returns what is left of the gap once only {@code departures} are still to come. */
    Gap of(long departures) {
      long passed = Math.max(0, from - departures);
      return passed == 0 ? this : of(from - passed, length - passed, free - passed);
    }

    /** Whether it is known which departures are free, because all of them are. */
    boolean isKnown() {
      return free > 0 && free == length;
    }

    /** Returns the gap without its earliest departure, which was handed out again. */
    Gap withoutEarliest() {
      return of(from - 1, length - 1, free - 1);
    }

    /** Returns the gap after more departures were handed out behind it. */
    Gap moved(long departures) {
      return free == 0 ? this : new Gap(from + departures, length, free);
    }

    /**
     * The number of the nth departure that is not free, counted from the earliest of {@code
     * departures}.
     */
    long standing(long nth, long departures) {
      long before = departures - from;
      return departures + 1 - nth - (before < nth ? free : 0);
    }

    /**
     * Returns the gap with departures that were given up; null if some of them are free already.
     */
    @Nullable Gap with(long first, long units) {
      if (free == 0) {
        return new Gap(first, units, units);
      }
      long earliest = Math.max(from, first);
      long last = Math.min(from - length, first - units);
      Gap more = new Gap(earliest, earliest - last, free + units);
      return more.free > more.length ? null : more;
    }

    /** How many of the last departures are known to be free. */
    long last() {
      return isKnown() && from == length ? length : 0;
    }
  }
}
