// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.rule.TokenBucketRule;
import io.limiter.core.store.Mode;

/**
 * The cell of a {@link TokenBucketRule} whose tokens come back at the end of each interval. Its
 * numbers are the start of the interval in which something was last taken, or time started, and the
 * tokens that were missing then, {@value #NEW} if time has not started for this subject. From then
 * on the bucket fills.
 */
final class IntervalCell extends Cell {

  private static final long NEW = -1;

  private final TokenBucketRule rule;
  private final long intervalMicros;

  IntervalCell(TokenBucketRule rule, int at) {
    super(at, CellAlgorithm.INTERVAL_BUCKET, 2);
    this.rule = rule;
    this.intervalMicros = MICROSECONDS.convert(rule.interval());
  }

  @Override
  public double[] plan(long wallMicros) {
    return doubles(rule.count(), intervalMicros, rule.refill(), rule.count() - rule.initial());
  }

  @Override
  void clear(long[] state) {
    write(state, 0, NEW);
  }

  private void write(long[] state, long lastMicros, long used) {
    state[at] = lastMicros;
    state[at + 1] = used;
  }

  @Override
  public void use(
      long[] state, long used, long nowMicros, long returnsAfterMicros, long resetsAfterMicros) {
    write(state, nowMicros - intervalMicros + Math.min(intervalMicros, returnsAfterMicros), used);
  }

  @Override
  public long memoryMicros() {
    return Math.max(MICROSECONDS.convert(rule.window()), MICROSECONDS.convert(rule.memory()));
  }

  @Override
  public CellReadout read(long[] state, long nowMicros, int cost, Mode mode, long leaseMicros) {
    return new Filling(state, nowMicros, cost, mode);
  }

  /**
   * If a verdict arrives late, the next refill seems to come later than it does, and the bucket may
   * lack tokens for units that were taken after that refill. Then it is empty until the one after.
   */
  @Override
  public void recordEarlier(long[] state, long verdictMicros, int units) {
    Filling then = new Filling(state, verdictMicros, units, Mode.RECORD);
    if (then.units() == units) {
      then.take(state);
    } else {
      write(state, verdictMicros, rule.count());
    }
  }

  private long missing(long before, long refills) {
    return refills > before / rule.refill() ? 0 : before - refills * rule.refill();
  }

  @Override
  public boolean giveBack(
      long[] state, long stampMicros, int units, int taken, long departureParts, long nowMicros) {
    long refills = ceil(Math.max(0, state[at] - stampMicros), intervalMicros);
    long credit = Math.min(missing(taken, refills), units);
    if (credit == 0 || state[at + 1] <= 0) {
      return false;
    }
    state[at + 1] = Math.max(0, state[at + 1] - credit);
    return true;
  }

  @Override
  public long neededUntilMicros(long[] state) {
    long filled = ceil(Math.max(0, state[at + 1]), rule.refill()) * intervalMicros;
    return state[at] + Math.max(filled, MICROSECONDS.convert(rule.memory()));
  }

  @Override
  public long spendableUntilMicros(long[] state, long nowMicros) {
    return state[at] + intervalMicros;
  }

  private final class Filling extends CellReadout.Computed {

    private final boolean begun;

    /** The start of the current interval. */
    private final long lastMicros;

    private final long used;

    /**
     * Tokens missing beyond this rule's capacity: a rule with a larger count took them, and they
     * stay missing.
     */
    private final long more;

    private final long pastMicros;

    Filling(long[] state, long nowMicros, int cost, Mode mode) {
      super(rule.count(), cost, mode);
      long before = state[at + 1];
      long missing = count - rule.initial();
      long beyond = 0;
      long from = nowMicros;
      begun = before != NEW;
      if (begun) {
        long refills = (nowMicros - state[at]) / intervalMicros;
        missing = missing(Math.min(before, count), refills);
        beyond = missing(before, refills) - missing;
        from = missing + beyond == 0 ? nowMicros : state[at] + refills * intervalMicros;
      }
      used = missing;
      more = beyond;
      lastMicros = from;
      pastMicros = nowMicros - from;
    }

    @Override
    public long remainingBefore() {
      return count - used;
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
      return used + taken == 0 ? 0 : untilBack(used + taken);
    }

    private long untilBack(long tokens) {
      return ceil(tokens, rule.refill()) * intervalMicros - pastMicros;
    }

    @Override
    void write(long[] state, long taken) {
      IntervalCell.this.write(state, lastMicros, used + taken + more);
    }

    @Override
    boolean isNew() {
      return !begun;
    }
  }
}
