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
 * each microsecond brings a whole number of them. More may be missing than the capacity if a rule
 * with a larger count took it.
 *
 * @param unit parts of a token
 * @param rate parts that come back in a microsecond
 * @param begun whether time has started for this subject: false if it is new. From then on the
 *     bucket fills
 * @param lastMicros when something was last taken, or time started
 * @param debt the parts that were missing then
 */
record GreedyCell(
    TokenBucketRule rule, long unit, long rate, boolean begun, long lastMicros, long debt)
    implements Cell {

  static @Nullable Cell unused(Rule rule) {
    if (!(rule instanceof TokenBucketRule bucket && bucket.greedy())) {
      return null;
    }
    long micros = MICROSECONDS.convert(bucket.interval());
    long divisor =
        BigInteger.valueOf(micros).gcd(BigInteger.valueOf(bucket.refill())).longValueExact();
    return new GreedyCell(bucket, micros / divisor, bucket.refill() / divisor, false, 0, 0);
  }

  private GreedyCell begun(long atMicros, long missing) {
    return new GreedyCell(rule, unit, rate, true, atMicros, missing);
  }

  @Override
  public CellAlgorithm algorithm() {
    return CellAlgorithm.TOKEN_BUCKET;
  }

  @Override
  public double[] plan(Rule planned, long wallMicros) {
    return Cell.doubles(rule.count(), unit, rate, (rule.count() - rule.initial()) * unit);
  }

  @Override
  public String meaning() {
    return "bucket %s %s %b".formatted(rule.refill(), rule.interval(), true);
  }

  @Override
  public Cell withNumbers(long firstMicros, double[] numbers, long nowMicros) {
    return begun(firstMicros, Cell.units(numbers[1]));
  }

  @Override
  public Cell used(
      Rule reading, long used, long nowMicros, long returnsAfterMicros, long resetsAfterMicros) {
    return begun(nowMicros, Math.min(used * unit, resetsAfterMicros * rate));
  }

  @Override
  public Cell startedFrom(Cell former, long nowMicros, long newestMicros) {
    long parts = Cell.parts(former, unit, rule.count() * unit);
    return parts > 0 ? begun(former.timeMicros(), parts) : this;
  }

  @Override
  public long scale() {
    return unit;
  }

  @Override
  public long missing() {
    return debt;
  }

  @Override
  public long timeMicros() {
    return begun ? lastMicros : -1;
  }

  @Override
  public long memoryMicros() {
    return Math.max(MICROSECONDS.convert(rule.window()), MICROSECONDS.convert(rule.memory()));
  }

  @Override
  public boolean serves(Rule other) {
    return other == rule
        || (other instanceof TokenBucketRule bucket
            && bucket.greedy()
            && bucket.refill() == rule.refill()
            && bucket.interval().equals(rule.interval()));
  }

  @Override
  public Cell under(Rule other) {
    return new GreedyCell((TokenBucketRule) other, unit, rate, begun, lastMicros, debt);
  }

  @Override
  public CellReadout read(Rule reading, long nowMicros, int cost, Mode mode) {
    TokenBucketRule bucket = (TokenBucketRule) reading;
    long missing = (bucket.count() - bucket.initial()) * unit;
    long more = 0;
    if (begun) {
      long room = bucket.count() * unit;
      missing = missing(Math.min(debt, room), nowMicros - lastMicros);
      more = debt <= room ? 0 : missing(debt, nowMicros - lastMicros) - missing;
    }
    return new GreedyFilling(this, bucket, nowMicros, missing, more, cost, mode);
  }

  /** Past units may have been taken when the bucket was full. */
  @Override
  public Cell recorded(Rule reading, long atMicros, int units) {
    GreedyFilling then = (GreedyFilling) read(reading, atMicros, units, Mode.RECORD);
    long room = then.bucket.count() * unit;
    long owed = Math.min(room, then.debt + units * unit) + then.more;
    return new GreedyCell(then.bucket, unit, rate, true, atMicros, owed);
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
  public Cell giveBack(long stampMicros, int units, int taken) {
    // As a double, since both may exceed a long; exact where it affects the result.
    double still = (double) taken * unit - (double) Math.max(0, lastMicros - stampMicros) * rate;
    double credit = Math.min(still, (double) units * unit);
    return credit > 0 && debt > 0
        ? new GreedyCell(rule, unit, rate, begun, lastMicros, (long) Math.max(0, debt - credit))
        : this;
  }

  @Override
  public long neededUntilMicros() {
    return lastMicros + Math.max(Cell.ceil(debt, rate), MICROSECONDS.convert(rule.memory()));
  }

  @Override
  public String toString() {
    return "GreedyCell[begun=%b, last=%s, debt=%s]".formatted(begun, lastMicros, debt);
  }

  private static final class GreedyFilling extends CellReadout.Computed {

    private final GreedyCell cell;
    private final TokenBucketRule bucket;
    private final long nowMicros;

    /** The parts that are missing now. */
    private final long debt;

    /**
     * Parts missing beyond this rule's capacity: a rule with a larger count took them, and they
     * stay missing.
     */
    private final long more;

    GreedyFilling(
        GreedyCell cell,
        TokenBucketRule bucket,
        long nowMicros,
        long debt,
        long more,
        int cost,
        Mode mode) {
      super(bucket.count(), cost, mode);
      this.cell = cell;
      this.bucket = bucket;
      this.nowMicros = nowMicros;
      this.debt = debt;
      this.more = more;
    }

    @Override
    public boolean admits() {
      return cost <= count && debt <= (count - cost) * cell.unit;
    }

    @Override
    public long remainingBefore() {
      return (count * cell.unit - debt) / cell.unit;
    }

    @Override
    long microsUntilLeft(long wanted, long taken) {
      return Cell.ceil(debt - (count - wanted - taken) * cell.unit, cell.rate);
    }

    @Override
    long microsUntilMore(long taken) {
      long broken = debt % cell.unit;
      return Cell.ceil(broken == 0 ? cell.unit : broken, cell.rate);
    }

    @Override
    long microsUntilReplenished(long taken) {
      return Cell.ceil(debt + taken * cell.unit, cell.rate);
    }

    @Override
    Cell with(long taken) {
      long owed = debt + taken * cell.unit + more;
      return new GreedyCell(bucket, cell.unit, cell.rate, true, nowMicros, owed);
    }

    /**
     * Starts time for a new subject: otherwise one with fewer initial tokens than it needs would
     * never get more.
     */
    @Override
    public Cell denied(Cell read) {
      return waits() && !cell.begun ? with(0) : read;
    }
  }
}
