// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.rule.Rule;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.core.store.Mode;
import org.jspecify.annotations.Nullable;

/**
 * The cell of a {@link TokenBucketRule} whose tokens come back at the end of each interval.
 *
 * @param begun whether time has started for this subject: false if it is new. From then on the
 *     bucket fills
 * @param lastMicros the start of the interval in which something was last taken, or time started
 * @param used the tokens that were missing then
 */
record IntervalCell(TokenBucketRule rule, boolean begun, long lastMicros, long used)
    implements Cell {

  static @Nullable Cell unused(Rule rule) {
    return rule instanceof TokenBucketRule bucket && !bucket.greedy()
        ? new IntervalCell(bucket, false, 0, 0)
        : null;
  }

  @Override
  public CellAlgorithm algorithm() {
    return CellAlgorithm.INTERVAL_BUCKET;
  }

  @Override
  public double[] plan(Rule planned, long wallMicros) {
    long intervalMicros = MICROSECONDS.convert(rule.interval());
    return Cell.doubles(rule.count(), intervalMicros, rule.refill(), rule.count() - rule.initial());
  }

  @Override
  public Cell withNumbers(long firstMicros, double[] numbers, long nowMicros) {
    return new IntervalCell(rule, true, firstMicros, Cell.units(numbers[1]));
  }

  @Override
  public Cell used(
      Rule reading, long units, long nowMicros, long returnsAfterMicros, long resetsAfterMicros) {
    long intervalMicros = MICROSECONDS.convert(rule.interval());
    return new IntervalCell(
        rule,
        true,
        nowMicros - intervalMicros + Math.min(intervalMicros, returnsAfterMicros),
        units);
  }

  @Override
  public long memoryMicros() {
    return Math.max(MICROSECONDS.convert(rule.window()), MICROSECONDS.convert(rule.memory()));
  }

  @Override
  public Cell under(Rule other) {
    return new IntervalCell((TokenBucketRule) other, begun, lastMicros, used);
  }

  @Override
  public CellReadout read(Rule reading, long nowMicros, int cost, Mode mode) {
    TokenBucketRule bucket = (TokenBucketRule) reading;
    long missing = bucket.count() - bucket.initial();
    long more = 0;
    long from = nowMicros;
    if (begun) {
      long intervalMicros = MICROSECONDS.convert(bucket.interval());
      long refills = (nowMicros - lastMicros) / intervalMicros;
      missing = missing(Math.min(used, bucket.count()), refills, bucket);
      more = missing(used, refills, bucket) - missing;
      from = missing + more == 0 ? nowMicros : lastMicros + refills * intervalMicros;
    }
    return new Filling(new IntervalCell(bucket, begun, from, missing), more, nowMicros, cost, mode);
  }

  /**
   * If a verdict arrives late, the next refill seems to come later than it does, and the bucket may
   * lack tokens for units that were taken after that refill. Then it is empty until the one after.
   */
  @Override
  public Cell withEarlier(Rule reading, long verdictMicros, int units) {
    CellReadout then = read(reading, verdictMicros, units, Mode.RECORD);
    return then.units() == units
        ? then.taken()
        : new IntervalCell((TokenBucketRule) reading, true, verdictMicros, reading.count());
  }

  private static long missing(long before, long refills, TokenBucketRule bucket) {
    return refills > before / bucket.refill() ? 0 : before - refills * bucket.refill();
  }

  @Override
  public Cell giveBack(
      Rule under, long stampMicros, int units, int taken, long departureParts, long nowMicros) {
    long intervalMicros = MICROSECONDS.convert(rule.interval());
    long refill = ((TokenBucketRule) under).refill();
    long refills = Cell.ceil(Math.max(0, lastMicros - stampMicros), intervalMicros);
    long still = refills > taken / refill ? 0 : taken - refills * refill;
    long credit = Math.min(still, units);
    return credit > 0 && used > 0
        ? new IntervalCell(rule, begun, lastMicros, Math.max(0, used - credit))
        : this;
  }

  @Override
  public long neededUntilMicros() {
    long filled = Cell.ceil(used, rule.refill()) * MICROSECONDS.convert(rule.interval());
    return lastMicros + Math.max(filled, MICROSECONDS.convert(rule.memory()));
  }

  @Override
  public long spendableUntilMicros(long nowMicros) {
    return lastMicros + MICROSECONDS.convert(rule.interval());
  }

  @Override
  public String toString() {
    return "IntervalCell[begun=%b, last=%s, used=%s]".formatted(begun, lastMicros, used);
  }

  private static final class Filling extends CellReadout.Computed {

    private final IntervalCell cell;

    /**
     * Tokens missing beyond this rule's capacity: a rule with a larger count took them, and they
     * stay missing.
     */
    private final long more;

    private final long intervalMicros;
    private final long pastMicros;

    Filling(IntervalCell cell, long more, long nowMicros, int cost, Mode mode) {
      super(cell.rule.count(), cost, mode);
      this.cell = cell;
      this.more = more;
      this.intervalMicros = MICROSECONDS.convert(cell.rule.interval());
      this.pastMicros = nowMicros - cell.lastMicros;
    }

    @Override
    public long remainingBefore() {
      return count - cell.used;
    }

    @Override
    long microsUntilLeft(long wanted, long taken) {
      return untilBack(wanted + taken - remainingBefore());
    }

    @Override
    long microsUntilMore(long taken) {
      return intervalMicros - pastMicros;
    }

    @Override
    long microsUntilReplenished(long taken) {
      return cell.used + taken == 0 ? 0 : untilBack(cell.used + taken);
    }

    private long untilBack(long tokens) {
      return Cell.ceil(tokens, cell.rule.refill()) * intervalMicros - pastMicros;
    }

    @Override
    Cell with(long taken) {
      return new IntervalCell(cell.rule, true, cell.lastMicros, cell.used + taken + more);
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
