// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.Mode;
import io.limiter.core.rule.TokenBucketRule;
import java.math.BigInteger;

/**
 * The cell of a {@link TokenBucketRule}. It stores what is missing from a full bucket, so that the
 * capacity may change; more may be missing than the capacity if a rule with a larger count took it.
 * It counts parts of a token: where tokens come back one by one, so many that each microsecond
 * brings a whole number of them, which another refill {@linkplain Cell#parts converts}; where they
 * come back at the end of each interval, a token is its only part.
 *
 * <p>Its numbers are the time when something was last taken, or time started, or the start of that
 * interval; the parts that were missing then, {@value #NEW} if time has not started for this
 * subject; and, where they come back one by one, the parts of a token. Once time has started, the
 * bucket fills.
 */
final class BucketCell extends Cell {

  private static final long NEW = -1;

  private final TokenBucketRule rule;

  /** Parts of a token. */
  private final long unit;

  /** After so many microseconds parts come back. */
  private final long step;

  /** How many then come back. */
  private final long rate;

  private final long room;
  private final long missingAtFirst;

  BucketCell(TokenBucketRule rule, int at) {
    super(
        at,
        rule.greedy() ? CellAlgorithm.TOKEN_BUCKET : CellAlgorithm.INTERVAL_BUCKET,
        rule.greedy() ? 3 : 2);
    long micros = MICROSECONDS.convert(rule.interval());
    long divisor =
        BigInteger.valueOf(micros).gcd(BigInteger.valueOf(rule.refill())).longValueExact();
    this.rule = rule;
    this.unit = rule.greedy() ? micros / divisor : 1;
    this.step = rule.greedy() ? 1 : micros;
    this.rate = rule.greedy() ? rule.refill() / divisor : rule.refill();
    this.room = rule.count() * unit;
    this.missingAtFirst = (rule.count() - rule.initial()) * unit;
  }

  @Override
  public double[] plan(long wallMicros) {
    return doubles(rule.count(), rule.greedy() ? unit : step, rate, missingAtFirst);
  }

  @Override
  void clear(long[] state) {
    write(state, 0, NEW);
  }

  private void write(long[] state, long lastMicros, long debt) {
    state[at] = lastMicros;
    state[at + 1] = Math.min(debt, (1L << 53) - 1); // more than that only beyond the capacity
    if (rule.greedy()) {
      state[at + 2] = unit;
    }
  }

  /** What was missing at the last write, or {@link #NEW}. */
  private long debt(long[] state) {
    long debt = state[at + 1];
    return rule.greedy() && debt > 0 ? parts(debt, state[at + 2], unit) : debt;
  }

  @Override
  public void use(
      long[] state, long used, long nowMicros, long returnsAfterMicros, long resetsAfterMicros) {
    if (rule.greedy()) {
      double debt = Math.min((double) used * unit, (double) resetsAfterMicros * rate);
      write(state, nowMicros, (long) debt); // either alone may exceed a long
    } else {
      write(state, nowMicros - step + Math.min(step, returnsAfterMicros), used);
    }
  }

  @Override
  public long memoryMicros() {
    return Math.max(MICROSECONDS.convert(rule.window()), MICROSECONDS.convert(rule.memory()));
  }

  @Override
  public CellReadout read(long[] state, long nowMicros, int cost, Mode mode) {
    return new Filling(state, nowMicros, cost, mode, 0);
  }

  @Override
  public CellReadout readLease(long[] state, long nowMicros, int cost, long leaseMicros) {
    return new Filling(state, nowMicros, cost, Mode.ACQUIRE, leaseMicros);
  }

  /** Past units may have been taken when the bucket was full. */
  @Override
  public void record(long[] state, long atMicros, long units) {
    Filling then = new Filling(state, atMicros, 1, Mode.RECORD, 0);
    long more = Math.min(units, rule.count()) * unit;
    write(state, then.lastMicros, Math.min(room, then.debt + more) + then.more);
  }

  /**
   * If a verdict arrives late, the next refill at the end of an interval seems to come later than
   * it does, and the bucket may lack tokens for units that were taken after that refill. Then it is
   * empty until the one after.
   */
  @Override
  public void recordEarlier(long[] state, long verdictMicros, long units) {
    Filling then = new Filling(state, verdictMicros, 1, Mode.RECORD, 0);
    if (rule.greedy() || then.remainingBefore() >= units) {
      record(state, verdictMicros, units);
    } else {
      write(state, verdictMicros, room);
    }
  }

  /** How often parts come back in a time; mostly without a division, as every call computes it. */
  private long times(long micros) {
    return step == 1 ? micros : micros / step;
  }

  /** What is still missing after parts came back 0 or more times. */
  private long missing(long before, long times) {
    long back = times * rate;
    boolean overflow = back < 0 || Math.multiplyHigh(times, rate) != 0;
    return overflow ? 0 : Math.max(0, before - back);
  }

  @Override
  public boolean giveBack(
      long[] state, long stampMicros, int units, int taken, long departureParts, long nowMicros) {
    long debt = debt(state);
    long times = ceil(Math.max(0, state[at] - stampMicros), step);
    // As a double, since both may exceed a long; exact where it affects the result.
    double still = (double) taken * unit - (double) times * rate;
    double credit = Math.min(still, (double) units * unit);
    if (credit <= 0 || debt <= 0) {
      return false;
    }
    write(state, state[at], (long) Math.max(0, debt - credit));
    return true;
  }

  /** The time in which this many parts come back. */
  private long micros(long parts) {
    return ceil(Math.max(0, parts), rate) * step;
  }

  @Override
  public long neededUntilMicros(long[] state) {
    return state[at] + Math.max(micros(debt(state)), MICROSECONDS.convert(rule.memory()));
  }

  @Override
  public long spendableUntilMicros(long[] state, long nowMicros) {
    return rule.greedy() ? Long.MAX_VALUE : state[at] + step;
  }

  private final class Filling extends CellReadout.Computed {

    private final boolean begun;

    /** The current time, or the start of the current interval. */
    private final long lastMicros;

    private final long pastMicros;

    /** The parts that are missing now. */
    private final long debt;

    /**
     * Parts missing beyond this rule's capacity: a rule with a larger count took them, and they
     * stay missing.
     */
    private final long more;

    Filling(long[] state, long nowMicros, int cost, Mode mode, long leaseMicros) {
      super(rule.count(), cost, mode);
      long before = debt(state);
      long missing = missingAtFirst;
      long beyond = 0;
      long from = nowMicros;
      begun = before >= 0;
      if (begun) {
        long times = times(nowMicros - state[at]);
        missing = missing(Math.min(before, room), times);
        beyond = before <= room ? 0 : missing(before, times) - missing;
        from = missing + beyond == 0 ? nowMicros : state[at] + times * step;
      }
      // The tokens of a lease may be spent at its end, so none of them may come back before: as
      // many are missing as come back until then, if not more. By intervals, it ends before.
      debt = rule.greedy() ? Math.max(missing, leaseMicros * rate) : missing;
      more = beyond;
      lastMicros = from;
      pastMicros = nowMicros - from;
    }

    @Override
    boolean isNew() {
      return !begun;
    }

    @Override
    public boolean admits() {
      return cost <= count && debt <= (count - cost) * unit;
    }

    @Override
    public long remainingBefore() {
      return (room - debt) / unit;
    }

    @Override
    long microsUntilLeft(long wanted, long taken) {
      return untilBack(debt - (count - wanted - taken) * unit);
    }

    @Override
    long microsUntilMore(long taken) {
      long broken = debt % unit;
      return untilBack(broken == 0 ? unit : broken);
    }

    @Override
    long microsUntilReplenished(long taken) {
      return untilBack(debt + taken * unit);
    }

    private long untilBack(long parts) {
      return parts == 0 ? 0 : micros(parts) - pastMicros;
    }

    @Override
    void write(long[] state, long taken) {
      BucketCell.this.write(state, lastMicros, debt + taken * unit + more);
    }
  }
}
