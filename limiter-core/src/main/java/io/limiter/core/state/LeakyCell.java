// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.Mode;
import io.limiter.core.rule.LeakyBucketRule;
import java.math.BigInteger;
import org.jspecify.annotations.Nullable;

/**
 * The cell of a {@link LeakyBucketRule}. Its numbers are the time when a departure was last handed
 * out; the time from then until the next free departure, in parts of a microsecond chosen so that
 * an interval is a whole number of them; the {@link Gap}; and the parts of a microsecond. The
 * departures before the next free one are one interval apart, back to the present, so they are not
 * stored; those that were given up are, as the gap.
 */
final class LeakyCell extends Cell {

  private final LeakyBucketRule rule;

  /** Parts between two departures. */
  private final long unit;

  /** Parts of a microsecond. */
  private final long rate;

  private final long longestWaitParts;

  /** No rule with these departures allows a longer queue. */
  private final long longestQueueParts;

  LeakyCell(LeakyBucketRule rule, int at) {
    super(at, CellAlgorithm.LEAKY_BUCKET, 4);
    long micros = MICROSECONDS.convert(rule.window());
    long divisor =
        BigInteger.valueOf(micros).gcd(BigInteger.valueOf(rule.count())).longValueExact();
    this.rule = rule;
    this.unit = micros / divisor;
    this.rate = rule.count() / divisor;
    this.longestWaitParts = MICROSECONDS.convert(rule.maxWait()) * rate;
    this.longestQueueParts =
        Math.min(
                MICROSECONDS.convert(LeakyBucketRule.MAX_WAIT) * rate,
                LeakyBucketRule.MAX_DEPARTURES * unit)
            + (LeakyBucketRule.MAX_QUEUE + 1) * unit;
  }

  @Override
  public double[] plan(long wallMicros) {
    return doubles(unit, rate, rule.queue(), longestWaitParts, rule.fair() ? 1 : 0);
  }

  /** For a call that costs more, the script computes the time itself. */
  @Override
  public long memoryMicros() {
    return MICROSECONDS.convert(rule.maxWait())
        + ceil(MICROSECONDS.convert(rule.window()), rule.count());
  }

  /** The queue at the last write; that of another rate without its gap. */
  private Queue stored(long[] state) {
    long scale = state[at + 3];
    return new Queue(
        state[at],
        parts(state[at + 1], scale, rate),
        scale == rate ? Gap.stored(state[at + 2]) : Gap.NONE);
  }

  @Override
  public CellReadout read(long[] state, long nowMicros, int cost, Mode mode) {
    return new Waiting(stored(state).at(nowMicros), cost, mode);
  }

  /** The number of departures still to come, if the next free one is this many parts away. */
  private long departures(long parts) {
    return Math.max(0, ceil(parts, unit) - 1);
  }

  /** The microseconds in which this many parts pass. */
  private long micros(long parts) {
    return ceil(Math.max(0, parts), rate);
  }

  /** A departure that has passed cannot be given back. */
  @Override
  public boolean giveBack(
      long[] state, long stampMicros, int units, int taken, long departureParts, long nowMicros) {
    Queue queue = stored(state);
    if (units < taken
        || nowMicros - stampMicros >= micros(departureParts)
        || queue.lastMicros < stampMicros) {
      return false; // it has begun, or the state was reset in the meantime
    }
    Queue left =
        queue.without(
            units,
            queue.ahead - departureParts + (queue.lastMicros - stampMicros) * rate,
            nowMicros);
    if (left == null) {
      return false;
    }
    left.write(state);
    return true;
  }

  @Override
  public long neededUntilMicros(long[] state) {
    return state[at] + micros(parts(state[at + 1], state[at + 3], rate));
  }

  /** The departures that were handed out, at a time. */
  private final class Queue {

    private final long lastMicros;

    /** The parts from then until the next free departure. */
    private final long ahead;

    /** The departures before it that were given up. */
    private final Gap gap;

    Queue(long lastMicros, long ahead, Gap gap) {
      this.lastMicros = lastMicros;
      this.ahead = ahead;
      this.gap = gap;
    }

    void write(long[] state) {
      state[at] = lastMicros;
      state[at + 1] = ahead;
      state[at + 2] = gap.number();
      state[at + 3] = rate;
    }

    /**
     * The queue at a later time. If it is longer than any rule with these departures allows, it was
     * not written by this library, and its gap is ignored.
     */
    Queue at(long nowMicros) {
      long parts = Math.min(ahead, longestQueueParts);
      long remainingParts =
          nowMicros - lastMicros > parts / rate ? 0 : parts - (nowMicros - lastMicros) * rate;
      Gap known = parts < ahead ? Gap.NONE : gap;
      return new Queue(nowMicros, remainingParts, known.of(departures(remainingParts)));
    }

    /** Whether a call may take departures that were given up: a call of several units may not. */
    private boolean takesGap(int cost) {
      return cost == 1 && !rule.fair() && gap.isKnown();
    }

    /** The free units of the queue, and the departure of a call that finds it empty. */
    private long freeUnits() {
      return rule.queue() + 1 - ceil(ahead, unit) + gap.free();
    }

    /** The departures after all others that are within the longest wait. */
    private long behindInTime() {
      long room = longestWaitParts - ahead;
      return room < 0 ? 0 : room / unit + 1;
    }

    /** The departures that were given up and are within the longest wait. */
    private long gapInTime() {
      long later = Math.floorDiv(longestWaitParts - ahead, unit);
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
        return Math.max(micros, micros(ahead + (wanted - 1) * unit - longestWaitParts));
      }
      Queue then = at(lastMicros + micros);
      while (then.remaining(cost) < wanted) { // departures pass unused while others come in reach
        micros += then.microsUntilNextInTime(cost);
        then = at(lastMicros + micros);
      }
      return micros;
    }

    /** Time until another departure is within the longest wait. */
    private long microsUntilNextInTime(int cost) {
      long reached = takesGap(cost) ? gapInTime() : gap.free();
      long next = reached < gap.free() ? reached - gap.from() : behindInTime();
      return micros(ahead + next * unit - longestWaitParts);
    }

    /** The parts for which a call waits. */
    long partsUntilDeparture(int cost) {
      return takesGap(cost) ? ahead - gap.from() * unit : ahead;
    }

    /**
     * The queue after a call.
     *
     * @param units what it takes, which may be less than its cost
     */
    Queue with(long units, int cost) {
      return units == 1 && takesGap(cost)
          ? new Queue(lastMicros, ahead, gap.withoutEarliest())
          : new Queue(lastMicros, ahead + units * unit, gap.moved(units));
    }

    /**
     * The queue without the departures of a call.
     *
     * @param later the parts from the first of them until the next free departure
     * @return null if they are of a queue that has ended, or if some of them are free already
     */
    @Nullable Queue without(int units, long later, long nowMicros) {
      long from = later / unit;
      Gap more =
          later % unit != 0 || from < units
              ? null
              : gap.of(departures(ahead - (nowMicros - lastMicros) * rate)).with(from, units);
      if (more == null) {
        return null;
      }
      long last = rule.fair() ? 0 : more.last();
      return last == 0
          ? new Queue(lastMicros, ahead, more)
          : new Queue(lastMicros, ahead - last * unit, Gap.NONE);
    }
  }

  private final class Waiting extends CellReadout.Computed {

    private final Queue queue;
    private final long remainingBefore;

    Waiting(Queue queue, int cost, Mode mode) {
      super(rule.capacity(), cost, mode);
      this.queue = queue;
      this.remainingBefore = queue.remaining(cost);
    }

    @Override
    public long remainingBefore() {
      return remainingBefore;
    }

    /** Units of departures that are too late for a call are left, and come into reach. */
    @Override
    long remainingAfter(long taken) {
      return queue.with(taken, cost).remaining(cost);
    }

    @Override
    long microsUntilLeft(long wanted, long taken) {
      return queue.with(taken, cost).microsUntilLeft(wanted, cost);
    }

    /** If all are left, one interval. */
    @Override
    long microsUntilMore(long taken) {
      long remaining = remainingAfter(taken);
      return remaining < count ? microsUntilLeft(remaining + 1, taken) : micros(unit);
    }

    @Override
    long microsUntilReplenished(long taken) {
      return micros(queue.with(taken, cost).ahead);
    }

    @Override
    void write(long[] state, long taken) {
      queue.with(taken, cost).write(state);
    }

    @Override
    public long delayMicros() {
      return micros(queue.partsUntilDeparture(cost));
    }

    @Override
    public long departureParts() {
      return units() == 0 ? 0 : queue.partsUntilDeparture(cost);
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

    /** The number of bits for a number of departures; one number stores three of them. */
    private static final int GAP_BITS = 17;

    static final Gap NONE = new Gap(0, 0, 0);

    private static Gap of(long from, long length, long free) {
      return free < 1 ? NONE : new Gap(from, length, free);
    }

    /** The gap that is stored as one number; none if it was not written by this library. */
    static Gap stored(long bits) {
      long mask = (1L << GAP_BITS) - 1;
      Gap gap = of(bits >> (2 * GAP_BITS), (bits >> GAP_BITS) & mask, bits & mask);
      return gap.free > gap.length || gap.length > gap.from ? NONE : gap;
    }

    /** The gap as one number, which a double holds. */
    long number() {
      return (from << (2 * GAP_BITS)) | (length << GAP_BITS) | free;
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
