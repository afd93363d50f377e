// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.rule.TokenBucketRule;
import io.limiter.core.store.Mode;
import java.math.BigInteger;

/**
 * The cell of a {@link TokenBucketRule} whose tokens come back one by one. It stores what is
 * missing from a full bucket, so that the capacity may change, in parts of a token chosen so that
 * each microsecond brings a whole number of them. Another refill {@linkplain Cell#parts converts}
 * them. More may be missing than the capacity if a rule with a larger count took it.
 *
 * <p>Its numbers are the time when something was last taken, or time started; the parts that were
 * missing then; and the parts of a token, 0 if time has not started for this subject. From then on
 * the bucket fills.
 */
final class GreedyCell extends Cell {

  private final TokenBucketRule rule;

  /** Parts of a token. */
  private final long unit;

  /** Parts that come back in a microsecond. */
  private final long rate;

  private final long room;
  private final long missingAtFirst;

  GreedyCell(TokenBucketRule rule, int at) {
    super(at, CellAlgorithm.TOKEN_BUCKET, 3);
    long micros = MICROSECONDS.convert(rule.interval());
    long divisor =
        BigInteger.valueOf(micros).gcd(BigInteger.valueOf(rule.refill())).longValueExact();
    this.rule = rule;
    this.unit = micros / divisor;
    this.rate = rule.refill() / divisor;
    this.room = rule.count() * unit;
    this.missingAtFirst = (rule.count() - rule.initial()) * unit;
  }

  @Override
  public double[] plan(long wallMicros) {
    return doubles(rule.count(), unit, rate, missingAtFirst);
  }

  /** Parts of a scale that this library cannot have written count as 0. */
  @Override
  void repair(long[] state) {
    state[at + 1] = parts(state[at + 1], state[at + 2], unit);
    state[at + 2] = unit;
  }

  @Override
  public void use(
      long[] state, long used, long nowMicros, long returnsAfterMicros, long resetsAfterMicros) {
    write(state, nowMicros, Math.min(used * unit, resetsAfterMicros * rate));
  }

  private void write(long[] state, long nowMicros, long debt) {
    state[at] = nowMicros;
    state[at + 1] = debt;
    state[at + 2] = unit;
  }

  private boolean hasBegun(long[] state) {
    return state[at + 2] > 0;
  }

  private long debt(long[] state) {
    return parts(state[at + 1], state[at + 2], unit);
  }

  @Override
  public long memoryMicros() {
    return Math.max(MICROSECONDS.convert(rule.window()), MICROSECONDS.convert(rule.memory()));
  }

  @Override
  public CellReadout read(long[] state, long nowMicros, int cost, Mode mode, long leaseMicros) {
    return new Filling(state, nowMicros, cost, mode, leaseMicros);
  }

  /** Past units may have been taken when the bucket was full. */
  @Override
  public void record(long[] state, long atMicros, int units) {
    Filling then = new Filling(state, atMicros, units, Mode.RECORD, 0);
    write(state, atMicros, Math.min(room, then.debt + units * unit) + then.more);
  }

  /**
   * What is still missing after a time of 0 or more; without a division, as every call computes it.
   */
  private long missing(long before, long sinceMicros) {
    long back = sinceMicros * rate;
    boolean overflow = back < 0 || Math.multiplyHigh(sinceMicros, rate) != 0;
    return overflow ? 0 : Math.max(0, before - back);
  }

  @Override
  public boolean giveBack(
      long[] state, long stampMicros, int units, int taken, long departureParts, long nowMicros) {
    long lastMicros = state[at];
    long debt = debt(state);
    // As a double, since both may exceed a long; exact where it affects the result.
    double still = (double) taken * unit - (double) Math.max(0, lastMicros - stampMicros) * rate;
    double credit = Math.min(still, (double) units * unit);
    if (credit <= 0 || debt <= 0) {
      return false;
    }
    write(state, lastMicros, (long) Math.max(0, debt - credit));
    return true;
  }

  @Override
  public long neededUntilMicros(long[] state) {
    return state[at] + Math.max(ceil(debt(state), rate), MICROSECONDS.convert(rule.memory()));
  }

  private final class Filling extends CellReadout.Computed {

    private final boolean begun;
    private final long nowMicros;

    /** The parts that are missing now. */
    private final long debt;

    /**
     * Parts missing beyond this rule's capacity: a rule with a larger count took them, and they
     * stay missing.
     */
    private final long more;

    Filling(long[] state, long nowMicros, int cost, Mode mode, long leaseMicros) {
      super(rule.count(), cost, mode);
      this.nowMicros = nowMicros;
      this.begun = hasBegun(state);
      long missing = missingAtFirst;
      long beyond = 0;
      if (begun) {
        long before = debt(state);
        long sinceMicros = nowMicros - state[at];
        missing = missing(Math.min(before, room), sinceMicros);
        beyond = before <= room ? 0 : missing(before, sinceMicros) - missing;
      }
      // The tokens of a lease may be spent at its end, so none of them may come back before: as
      // many are missing as come back until then, if not more.
      this.debt = Math.max(missing, leaseMicros * rate);
      this.more = beyond;
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
      return ceil(debt - (count - wanted - taken) * unit, rate);
    }

    @Override
    long microsUntilMore(long taken) {
      long broken = debt % unit;
      return ceil(broken == 0 ? unit : broken, rate);
    }

    @Override
    long microsUntilReplenished(long taken) {
      return ceil(debt + taken * unit, rate);
    }

    @Override
    void write(long[] state, long taken) {
      long newDebt = debt + taken * unit + more;
      GreedyCell.this.write(
          state, nowMicros, more == 0 ? newDebt : Math.min(newDebt, (1L << 53) - 1));
    }

    @Override
    boolean isNew() {
      return !begun;
    }
  }
}
