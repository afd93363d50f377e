// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.StateKey;

/** Some units of one key: those that a decision put there. */
public final class TakenUnits {

  public final StateKey key;
  public final StackPlan plan;
  public final int units;

  /** How many of them a log gives back: fewer if others had to go for them. */
  public final int logged;

  /** Where they are leased, each renewal gives them another stamp, on a thread of Lettuce. */
  private volatile byte[] returning;

  /**
   * @param returning as {@code refund.lua} wants them
   * @param units how many of them, 1 or more
   * @param logged as {@link StoredDecision#logged}
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
