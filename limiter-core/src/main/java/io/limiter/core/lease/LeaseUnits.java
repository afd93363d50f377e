// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.lease;

import java.util.concurrent.atomic.LongAdder;

/**
 * The units of leases under one limit key, on this instance. Spending is counted when a lease has
 * ended, so that a decision by a lease costs nothing for it. No number ever falls.
 *
 * @param granted by the store
 * @param spent by calls, also if a call took its units at the end of the lease, and has given them
 *     back
 * @param returned units that were left at the end of a lease, and went back to the store
 * @param expired units that were left, and count to the end of their window: the store no longer
 *     took them back, was away, or was reset
 */
public record LeaseUnits(long granted, long spent, long returned, long expired) {

  /** The units of leases that have not ended, spent or not. */
  public long held() {
    return granted - spent - returned - expired;
  }

  /** Returns the sum of both. */
  public LeaseUnits plus(LeaseUnits other) {
    return new LeaseUnits(
        granted + other.granted,
        spent + other.spent,
        returned + other.returned,
        expired + other.expired);
  }

  /** Counts them. Thread-safe. */
  static final class Counts {

    final LongAdder granted = new LongAdder();
    final LongAdder spent = new LongAdder();
    private final LongAdder returned = new LongAdder();
    private final LongAdder expired = new LongAdder();

    /** Counts what was left at the end of a lease, of which the store took some back. */
    void unspent(int units, long back) {
      returned.add(back);
      expired.add(units - back);
    }

    /** What was granted is read last: {@link #held} is never negative. */
    LeaseUnits now() {
      long spentNow = spent.sum();
      long returnedNow = returned.sum();
      long expiredNow = expired.sum();
      return new LeaseUnits(granted.sum(), spentNow, returnedNow, expiredNow);
    }
  }
}
