// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import io.limiter.core.Mode;
import io.limiter.core.store.DecisionReadout;

/**
 * The evaluation of one call by one rule that keeps numbers. It is created under the lock and read
 * after it: later changes to the state do not affect it.
 */
public interface CellReadout {

  /** See {@link DecisionReadout#remainingBefore}. */
  long remainingBefore();

  /** Whether the rule has enough units left for the call. */
  boolean admits();

  /**
   * The units that the call takes if it is admitted: its cost, or, if it is only recorded, at most
   * the units that are left.
   */
  long units();

  /** See {@link DecisionReadout#retryAfterMicros}. */
  long retryAfterMicros(boolean taken);

  /** See {@link DecisionReadout#resetAfterMicros}. */
  long resetAfterMicros(boolean taken);

  /** See {@link DecisionReadout#delayMicros}. */
  default long delayMicros() {
    return 0;
  }

  /**
   * The delay in the cell's own unit, parts of a microsecond. It identifies the departure that a
   * call gives up if it is abandoned while it waits.
   */
  default long departureParts() {
    return 0;
  }

  /** Writes the numbers after the call if it is admitted. */
  void consume(long[] state);

  /** Whether time starts for a new subject with this call, though it is denied. */
  default boolean starts() {
    return false;
  }

  /** Writes the numbers of a subject for which time {@link #starts}. */
  default void start(long[] state) {}

  /**
   * The evaluation for the algorithms of this library: it is computed from the current numbers,
   * with or without the units of the call. Divisions are deferred until a number is read.
   */
  abstract class Computed implements CellReadout {

    final long count;
    final int cost;
    private final Mode mode;

    Computed(long count, int cost, Mode mode) {
      this.count = count;
      this.cost = cost;
      this.mode = mode;
    }

    @Override
    public boolean admits() {
      return remainingBefore() >= cost;
    }

    /** Units that are left, once {@code taken} more are used. */
    long remainingAfter(long taken) {
      return remainingBefore() - taken;
    }

    /** Time until {@code wanted} units are left, once {@code taken} more are used. */
    abstract long microsUntilLeft(long wanted, long taken);

    /** Time until more units are left than at this moment, once {@code taken} more are used. */
    abstract long microsUntilMore(long taken);

    /** Time until the rule is fully replenished, once {@code taken} more are used. */
    abstract long microsUntilReplenished(long taken);

    /** Writes the numbers once {@code taken} more units are used. */
    abstract void write(long[] state, long taken);

    /** Whether time has not started for the subject yet. */
    boolean isNew() {
      return false;
    }

    /** A record does not count units beyond the rule's limit: no rule is ever in debt. */
    @Override
    public final long units() {
      return mode == Mode.RECORD ? Math.min(cost, Math.max(0, remainingBefore())) : cost;
    }

    @Override
    public final long retryAfterMicros(boolean taken) {
      if (admits()) {
        long more = taken ? units() : 0;
        return remainingAfter(more) < cost ? microsUntilLeft(cost, more) : microsUntilMore(more);
      }
      if (mode == Mode.RECORD) {
        return microsUntilLeft(1, units());
      }
      return cost > count ? DecisionReadout.NEVER : microsUntilLeft(cost, 0);
    }

    @Override
    public final long resetAfterMicros(boolean taken) {
      return microsUntilReplenished(taken ? units() : 0);
    }

    @Override
    public final void consume(long[] state) {
      write(state, units());
    }

    /** Otherwise a subject with fewer initial tokens than it needs would never get more. */
    @Override
    public final boolean starts() {
      return isNew() && !admits() && cost <= count;
    }

    @Override
    public final void start(long[] state) {
      write(state, 0);
    }
  }
}
