// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.StateKey;

/** Units under one key that a decision took. */
public final class TakenUnits {

  public final StateKey key;
  public final EncodedStack stack;
  public final int units;

  /** The number of units that a log gives back; fewer if they replaced others. */
  public final int loggedUnits;

  /**
   * The refund argument. Each renewal of a concurrency permit changes its stamp, on a thread of
   * Lettuce.
   */
  private volatile byte[] refundArgument;

  /**
   * @param refundArgument the argument of {@code refund.lua}
   * @param units the number of units, 1 or more
   * @param loggedUnits see {@link StoredDecision#logged}
   */
  public TakenUnits(
      StateKey key, EncodedStack stack, byte[] refundArgument, int units, int loggedUnits) {
    this.key = key;
    this.stack = stack;
    this.refundArgument = refundArgument;
    this.units = units;
    this.loggedUnits = loggedUnits;
  }

  public byte[] refundArgument() {
    return refundArgument;
  }

  public void renewed(byte[] stamp) {
    refundArgument = stamp;
  }
}
