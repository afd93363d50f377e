// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.StateKey;

/** Units under one key that a decision took. */
public final class TakenUnits {

  public final StateKey key;
  public final StackPlan plan;
  public final int units;

  /** The number of units that a log gives back; fewer if they replaced others. */
  public final int logged;

  /**
   * The refund argument. Each renewal of a concurrency permit changes its stamp, on a thread of
   * Lettuce.
   */
  private volatile byte[] returning;

  /**
   * @param refundArgument the argument of {@code refund.lua}
   * @param units the number of units, 1 or more
   * @param logged see {@link StoredDecision#logged}
   */
  public TakenUnits(StateKey key, StackPlan plan, byte[] returning, int units, int logged) {
    this.key = key;
    this.plan = plan;
    this.returning = returning;
    this.units = units;
    this.logged = logged;
  }

  public byte[] returning() {
    return returning;
  }

  public void renewed(byte[] stamp) {
    returning = stamp;
  }
}
