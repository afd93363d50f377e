// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.StateKey;
import java.nio.ByteBuffer;
import java.util.Arrays;

/** Units under one key that a decision took. */
public final class TakenUnits {

  public final StateKey key;
  public final EncodedStack stack;
  public final int units;

  /**
   * The refund argument. Each renewal of a concurrency permit changes its stamp, on a thread of
   * Lettuce.
   */
  private volatile byte[] refundArgument;

  /**
   * @param refundArgument the argument of {@code refund.lua}
   * @param units the number of units, 1 or more
   */
  public TakenUnits(StateKey key, EncodedStack stack, byte[] refundArgument, int units) {
    this.key = key;
    this.stack = stack;
    this.refundArgument = refundArgument;
    this.units = units;
  }

  public byte[] refundArgument() {
    return refundArgument;
  }

  /** The time of the units in a log, as it is stored. */
  public byte[] stamp() {
    return Arrays.copyOfRange(refundArgument, Double.BYTES, 2 * Double.BYTES);
  }

  /**
   * @param stamp the new time of the units
   */
  public void renewed(double stamp) {
    byte[] argument = refundArgument.clone();
    ByteBuffer.wrap(argument).putDouble(stamp).putDouble(stamp);
    refundArgument = argument;
  }
}
