// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.rule.Rule;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.core.store.Mode;
import java.math.BigInteger;
import org.jspecify.annotations.Nullable;

/**
 * The cell of a {@link TokenBucketRule} whose tokens come back one by one. It stores what is
 * missing from a full bucket, so that the capacity may change, in parts of a token chosen so that
 * each microsecond brings a whole number of them. Another refill {@linkplain Cell#parts converts}
 * them. More may be missing than the capacity if a rule with a larger count took it.
 *
 * @param lastMicros when something was last taken, or time started
 * @param debt the parts that were missing then; below 0 if time has not started for this subject:
 *     from then on the bucket fills
 */
record GreedyCell(Refill refill, long lastMicros, long debt) implements Cell {

  /**
   * The numbers of a rule, which all its cells share.
   *
   * @param unit parts of a token
   * @param rate parts that come back in a microsecond
   */
  private record Refill(TokenBucketRule rule, long unit, long rate) {}

  static @Nullable Cell unused(Rule rule) {
    return rule instanceof TokenBucketRule bucket && bucket.greedy() ? of(bucket) : null;
  }

  private static GreedyCell of(TokenBucketRule bucket) {
    long micros = MICROSECONDS.convert(bucket.interval());
    long divisor =
        BigInteger.valueOf(micros).gcd(BigInteger.valueOf(bucket.refill())).longValueExact();
    return new GreedyCell(new Refill(bucket, micros / divisor, bucket.refill() / divisor), 0, -1);
  }

  private boolean begun() {
    return debt >= 0;
  }

  private GreedyCell begun(long atMicros, long missing) {
    return new GreedyCell(refill, atMicros, missing);
  }

  @Override
  public CellAlgorithm algorithm() {
    return CellAlgorithm.TOKEN_BUCKET;
  }

  @Override
  public double[] plan(Rule planned, long wallMicros) {
    return Cell.doubles(
        refill.rule.count(),
        refill.unit,
        refill.rate,
        (refill.rule.count() - refill.rule.initial()) * refill.unit);
  }

  @Override
  public Cell withNumbers(long firstMicros, double[] numbers, long nowMicros) {
    long parts = Cell.parts(Cell.units(numbers[1]), Cell.units(numbers[2]), refill.unit);
    return begun(firstMicros, parts);
  }

  @Override
  public Cell used(
      Rule reading, long used, long nowMicros, long returnsAfterMicros, long resetsAfterMicros) {
    return begun(nowMicros, Math.min(used * refill.unit, resetsAfterMicros * refill.rate));
  }

  @Override
  public int size() {
    return 3;
  }

  @Override
  public long memoryMicros() {
    return Math.max(
        MICROSECONDS.convert(refill.rule.window()), MICROSECONDS.convert(refill.rule.memory()));
  }

  @Override
  public Cell under(Rule other) {
    if (other == refill.rule) {
      return this;
    }
    GreedyCell theirs = of((TokenBucketRule) other);
    return begun()
        ? theirs.begun(lastMicros, Cell.parts(debt, refill.unit, theirs.refill.unit))
        : theirs;
  }

  @Override
  public CellReadout read(Rule reading, long nowMicros, int cost, Mode mode) {
    return ((GreedyCell) under(reading)).read(nowMicros, cost, mode);
  }

  /**
   * The tokens may be spent at the end of the lease, so none of them may come back before: as many
   * are missing as come back until then, if not more.
   */
  @Override
  public CellReadout lease(Rule reading, long nowMicros, int units, long leaseMicros) {
    GreedyFilling now = ((GreedyCell) under(reading)).read(nowMicros, units, Mode.ACQUIRE);
    long debt = Math.max(now.debt, leaseMicros * now.cell.refill.rate);
    return new GreedyFilling(now.cell, nowMicros, debt, now.more, units, Mode.ACQUIRE);
  }

  private GreedyFilling read(long nowMicros, int cost, Mode mode) {
    long missing = (refill.rule.count() - refill.rule.initial()) * refill.unit;
    long more = 0;
    if (begun()) {
      long room = refill.rule.count() * refill.unit;
      missing = missing(Math.min(debt, room), nowMicros - lastMicros);
      more = debt <= room ? 0 : missing(debt, nowMicros - lastMicros) - missing;
    }
    return new GreedyFilling(this, nowMicros, missing, more, cost, mode);
  }

  /** Past units may have been taken when the bucket was full. */
  @Override
  public Cell recorded(Rule reading, long atMicros, int units) {
    GreedyCell own = (GreedyCell) under(reading);
    GreedyFilling then = own.read(atMicros, units, Mode.RECORD);
    long room = own.refill.rule.count() * own.refill.unit;
    return own.begun(atMicros, Math.min(room, then.debt + units * own.refill.unit) + then.more);
  }

  /**
   * What is still missing after a time of 0 or more; without a division, as every call computes it.
   */
  private long missing(long before, long sinceMicros) {
    long back = sinceMicros * refill.rate;
    boolean overflow = back < 0 || Math.multiplyHigh(sinceMicros, refill.rate) != 0;
    return overflow ? 0 : Math.max(0, before - back);
  }

  @Override
  public Cell giveBack(
      Rule under, long stampMicros, int units, int taken, long departureParts, long nowMicros) {
    GreedyCell own = (GreedyCell) under(under);
    // As a double, since both may exceed a long; exact where it affects the result.
    double still =
        (double) taken * own.refill.unit
            - (double) Math.max(0, lastMicros - stampMicros) * own.refill.rate;
    double credit = Math.min(still, (double) units * own.refill.unit);
    return credit > 0 && own.debt > 0
        ? own.begun(lastMicros, (long) Math.max(0, own.debt - credit))
        : this;
  }

  @Override
  public long neededUntilMicros() {
    return lastMicros
        + Math.max(
            Cell.ceil(Math.max(0, debt), refill.rate), MICROSECONDS.convert(refill.rule.memory()));
  }

  @Override
  public String toString() {
    return "GreedyCell[begun=%b, last=%s, debt=%s]"
        .formatted(begun(), lastMicros, Math.max(0, debt));
  }

  private static final class GreedyFilling extends CellReadout.Computed {

    private final GreedyCell cell;
    private final long nowMicros;

    /** The parts that are missing now. */
    private final long debt;

    /**
     * Parts missing beyond this rule's capacity: a rule with a larger count took them, and they
     * stay missing.
     */
    private final long more;

    GreedyFilling(GreedyCell cell, long nowMicros, long debt, long more, int cost, Mode mode) {
      super(cell.refill.rule.count(), cost, mode);
      this.cell = cell;
      this.nowMicros = nowMicros;
      this.debt = debt;
      this.more = more;
    }

    @Override
    public boolean admits() {
      return cost <= count && debt <= (count - cost) * cell.refill.unit;
    }

    @Override
    public long remainingBefore() {
      return (count * cell.refill.unit - debt) / cell.refill.unit;
    }

    @Override
    long microsUntilLeft(long wanted, long taken) {
      return Cell.ceil(debt - (count - wanted - taken) * cell.refill.unit, cell.refill.rate);
    }

    @Override
    long microsUntilMore(long taken) {
      long broken = debt % cell.refill.unit;
      return Cell.ceil(broken == 0 ? cell.refill.unit : broken, cell.refill.rate);
    }

    @Override
    long microsUntilReplenished(long taken) {
      return Cell.ceil(debt + taken * cell.refill.unit, cell.refill.rate);
    }

    @Override
    Cell with(long taken) {
      long newDebt = debt + taken * cell.refill.unit + more;
      return cell.begun(nowMicros, more == 0 ? newDebt : Math.min(newDebt, (1L << 53) - 1));
    }

    /**
     * Starts time for a new subject: otherwise one with fewer initial tokens than it needs would
     * never get more.
     */
    @Override
    public Cell denied(Cell read) {
      return waits() && !cell.begun() ? with(0) : read;
    }
  }
}
