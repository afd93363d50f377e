// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import io.limiter.core.store.DecisionReadout;
import io.limiter.core.store.Mode;

/**
 * What one rule that keeps numbers says of one call. Made under the lock, and asked after it: it
 * sees nothing of what happens to the cell since.
 */
public interface CellReadout {

  /** As {@link DecisionReadout#left}. */
  long left();

  /**
   * The units that the call takes, should it be admitted: its cost, or, if it is only recorded, as
   * many of them as there is room for.
   */
  long units();

  /** As {@link DecisionReadout#waitFor}. */
  long waitFor(boolean taken);

  /** As {@link DecisionReadout#resetAfter}. */
  long resetAfter(boolean taken);

  /** As {@link DecisionReadout#delay}. */
  default long delay() {
    return 0;
  }

  /**
   * The same as the cell counts, in parts of a microsecond: by it, whoever goes away while he waits
   * gives up his departure.
   */
  default long departure() {
    return 0;
  }

  /** The cell, should the call be admitted. */
  Cell taken();

  /**
   * The cell, should the call be refused: the very one that was read, unless time has to begin for
   * a subject that was never seen.
   */
  Cell refused(Cell read);

  /**
   * The rules of this library: what they say follows from numbers as they are by now, with or
   * without the units of the call.
   */
  abstract class Plain implements CellReadout {

    private final long count;
    private final int cost;
    private final Mode mode;
    private final long left;

    /**
     * @param left units that are left before the call
     */
    Plain(long count, int cost, Mode mode, long left) {
      this.count = count;
      this.cost = cost;
      this.mode = mode;
      this.left = left;
    }

    /** Time until so many units are left, once {@code taken} more are used. */
    abstract long untilLeft(long wanted, long taken);

    /** Time until more units are left than right then, once {@code taken} more are used. */
    abstract long untilMore(long taken);

    /** Time until the rule is as if never used, once {@code taken} more are used. */
    abstract long untilUnused(long taken);

    /** The cell, once so many units more are used. */
    abstract Cell with(long taken);

    private boolean violated() {
      return left < cost;
    }

    /** Whether the call is refused, and would pass after some time. */
    final boolean waits() {
      return violated() && cost <= count;
    }

    /** What a record takes more than there is goes uncounted: no rule is ever in debt. */
    @Override
    public final long units() {
      return mode == Mode.RECORD ? Math.min(cost, Math.max(0, left)) : cost;
    }

    @Override
    public final long left() {
      return left;
    }

    @Override
    public final long waitFor(boolean taken) {
      if (!violated()) {
        return untilMore(taken ? units() : 0);
      }
      if (mode == Mode.RECORD) {
        return untilLeft(1, units());
      }
      return cost > count ? DecisionReadout.NEVER : untilLeft(cost, 0);
    }

    @Override
    public final long resetAfter(boolean taken) {
      return untilUnused(taken ? units() : 0);
    }

    @Override
    public final Cell taken() {
      return with(units());
    }

    @Override
    public Cell refused(Cell read) {
      return read;
    }
  }
}
