// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import io.limiter.core.rule.LeakyBucket;
import io.limiter.core.rule.Micros;
import io.limiter.core.rule.Rule;
import io.limiter.core.store.DecisionReadout;
import io.limiter.core.store.Mode;
import java.math.BigInteger;

/**
 * A {@link LeakyBucket}. It keeps the time until the next departure that nobody has, in parts of a
 * microsecond so small that an interval is a whole number of them. Departures before that are an
 * interval apart, back to now, so they need not be kept; those that were given up are.
 *
 * @param unit parts between two departures
 * @param rate parts of a microsecond
 * @param last when a departure was last handed out
 * @param ahead the parts from then until the next free departure
 * @param gaps the departures before it that were given up
 */
record LeakyCell(LeakyBucket rule, long unit, long rate, long last, long ahead, Gaps gaps)
    implements Cell {

  static LeakyCell unused(LeakyBucket bucket) {
    long micros = Micros.of(bucket.window());
    long divisor =
        BigInteger.valueOf(micros).gcd(BigInteger.valueOf(bucket.count())).longValueExact();
    return new LeakyCell(bucket, micros / divisor, bucket.count() / divisor, 0, 0, Gaps.NONE);
  }

  LeakyCell begun(long at, long parts) {
    return new LeakyCell(rule, unit, rate, at, parts, Gaps.NONE);
  }

  /** The parts of the longest queue. */
  long most() {
    return longestWait() + rule.capacity() * unit;
  }

  @Override
  public int kind() {
    return 6;
  }

  @Override
  public long scale() {
    return unit;
  }

  @Override
  public long missing() {
    return ahead;
  }

  @Override
  public int size() {
    return LEAKY_SIZE;
  }

  @Override
  public long time() {
    return last == 0 && ahead == 0 ? -1 : last;
  }

  @Override
  public long memoryMicros() {
    return Cell.longestMemoryMicros(rule);
  }

  LeakyCell stored(long at, long parts, double[] numbers) {
    return new LeakyCell(rule, unit, rate, at, parts, Gaps.stored(numbers, 2));
  }

  @Override
  public boolean serves(Rule other) {
    return other == rule
        || (other instanceof LeakyBucket bucket
            && bucket.count() == rule.count()
            && bucket.window().equals(rule.window()));
  }

  @Override
  public Cell under(Rule other) {
    return new LeakyCell((LeakyBucket) other, unit, rate, last, ahead, gaps);
  }

  @Override
  public CellReadout read(Rule reading, long now, int cost, Mode mode) {
    return new Waiting(at((LeakyBucket) reading, now), cost, mode);
  }

  /**
   * The same by now. In a queue that is longer than any rule with these departures can have made
   * it, which something else has written, it is not known who left.
   */
  private LeakyCell at(LeakyBucket bucket, long now) {
    long longest =
        Math.min(Micros.of(LeakyBucket.MAX_WAIT) * rate, LeakyBucket.MAX_DEPARTURES * unit)
            + (LeakyBucket.MAX_QUEUE + 1) * unit;
    long parts = Math.min(ahead, longest);
    long left = now - last > parts / rate ? 0 : parts - (now - last) * rate;
    Gaps known = parts < ahead ? Gaps.NONE : gaps;
    return new LeakyCell(bucket, unit, rate, now, left, known.of(departures(left)));
  }

  /** Departures that are still to come, so many parts before the next free one. */
  private long departures(long parts) {
    return Math.max(0, Cell.ceil(parts, unit) - 1);
  }

  /** The time at which so many parts have passed. */
  private long micros(long parts) {
    return Cell.ceil(Math.max(0, parts), rate);
  }

  private long longestWait() {
    return Micros.of(rule.maxWait()) * rate;
  }

  /** The parts until a departure that is known to be free, if there is one for a call to take. */
  private long untilGap() {
    Gaps.Gap gap = rule.fair() ? null : gaps.earliest();
    return gap == null ? Long.MAX_VALUE : ahead - gap.from() * unit;
  }

  /** Places in the queue, and the departure of a call that finds it empty. */
  private long places() {
    return rule.capacity() - Cell.ceil(ahead, unit) + gaps.free();
  }

  /**
   * Units that are left. Where the next free departure is too far away, one that was given up is
   * all there is, for one call at a time.
   */
  long left() {
    return ahead <= longestWait()
        ? places()
        : Math.min(places(), untilGap() <= longestWait() ? 1 : 0);
  }

  /** Time until so many units are left; at least 1. */
  long untilLeft(long wanted) {
    long missing = wanted - places();
    // A place becomes free when one that waits departs; the last one when the next could.
    long places = micros(ahead - gaps.standing(missing, departures(ahead)) * unit);
    long inTime = micros(ahead - longestWait());
    return Math.max(places, wanted == 1 ? Math.min(inTime, untilGapInTime(places)) : inTime);
  }

  /** The time at which the gap that is the earliest by then is near enough. */
  private long untilGapInTime(long then) {
    Gaps left = gaps.of(departures(ahead - then * rate));
    return micros(new LeakyCell(rule, unit, rate, last, ahead, left).untilGap() - longestWait());
  }

  /** Time until more units are left than now; of an empty queue, until one could have departed. */
  long untilMore() {
    return ahead == 0 ? micros(unit) : untilLeft(left() + 1);
  }

  long untilUnused() {
    return micros(ahead);
  }

  /** The parts that a call waits which takes so many units. */
  long untilDeparture(long units) {
    return units == 1 ? Math.min(ahead, untilGap()) : ahead;
  }

  LeakyCell with(long units) {
    return units == 1 && untilGap() < Long.MAX_VALUE
        ? new LeakyCell(rule, unit, rate, last, ahead, gaps.withoutEarliest())
        : new LeakyCell(rule, unit, rate, last, ahead + units * unit, gaps.moved(units));
  }

  /** A departure that has come cannot be given back. */
  @Override
  public Cell giveBack(long stamp, int units, int taken) {
    return this;
  }

  @Override
  public Cell giveBack(Rule under, long stamp, int units, int taken, long waits, long now) {
    if (units < taken || now - stamp >= micros(waits) || last < stamp) {
      return this; // it has begun, or all was forgotten meanwhile
    }
    long later = ahead - waits + (last - stamp) * rate;
    long from = later / unit;
    if (later % unit != 0 || from < units) {
      return this; // another queue has begun meanwhile
    }
    Gaps more = gaps.of(departures(ahead - (now - last) * rate)).with(from, units);
    if (more == null) {
      return this;
    }
    long parts = ahead;
    boolean fair = ((LeakyBucket) under).fair();
    if (!fair) { // the last departures are as if never handed out
      for (long free = more.last(); free > 0; free = more.last()) {
        more = more.withoutLast().moved(-free);
        parts -= free * unit;
      }
    }
    return new LeakyCell(rule, unit, rate, last, parts, more);
  }

  @Override
  public long neededUntil() {
    return last + micros(ahead);
  }

  @Override
  public String toString() {
    return "LeakyCell[last=%d, ahead=%d, gaps=%s]".formatted(last, ahead, gaps);
  }

  private static final class Waiting implements CellReadout {

    private final LeakyCell cell;
    private final int cost;
    private final Mode mode;
    private final long left;

    Waiting(LeakyCell cell, int cost, Mode mode) {
      this.cell = cell;
      this.cost = cost;
      this.mode = mode;
      this.left = cell.left();
    }

    @Override
    public long units() {
      return mode == Mode.RECORD ? Math.min(cost, Math.max(0, left)) : cost;
    }

    private LeakyCell after(boolean taken) {
      return taken ? cell.with(units()) : cell;
    }

    @Override
    public long left() {
      return left;
    }

    @Override
    public long waitFor(boolean taken) {
      if (left >= cost) {
        return after(taken).untilMore();
      }
      if (mode == Mode.RECORD) {
        return cell.with(units()).untilLeft(1);
      }
      return cost > cell.rule.capacity() ? DecisionReadout.NEVER : cell.untilLeft(cost);
    }

    @Override
    public long resetAfter(boolean taken) {
      return after(taken).untilUnused();
    }

    @Override
    public long delay() {
      return cell.micros(cell.untilDeparture(units()));
    }

    @Override
    public long departure() {
      return units() == 0 ? 0 : cell.untilDeparture(units());
    }

    @Override
    public Cell taken() {
      return cell.with(units());
    }

    @Override
    public Cell refused(Cell read) {
      return read;
    }
  }
}
