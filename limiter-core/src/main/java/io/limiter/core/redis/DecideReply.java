// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/** Reads what {@code decide.lua} returned. */
final class DecideReply implements Taken {

  private final ByteBuffer reply;
  private final EncodedStack[] stacks;
  private final int[] offsets;

  DecideReply(byte @Nullable [] reply, EncodedStack[] stacks) {
    this.stacks = stacks;
    this.offsets = new int[stacks.length];
    int length = 0;
    for (int i = 0; i < stacks.length; i++) {
      offsets[i] = length;
      length += stacks[i].replyLength();
    }
    if (reply == null || reply.length != length) {
      throw new StoreException(
          FailureReason.ERROR,
          "Redis answered a decision with %s bytes instead of %d"
              .formatted(reply == null ? "no" : reply.length, length),
          null);
    }
    this.reply = ByteBuffer.wrap(reply);
  }

  @Override
  public long left(int charge, int rule) {
    return reply.getInt(at(charge, rule));
  }

  @Override
  public long waitFor(int charge, int rule) {
    return (long) reply.getDouble(at(charge, rule) + 4);
  }

  @Override
  public long sinceNewest(int charge) {
    double newest = reply.getDouble(offsets[charge] + 8);
    return newest == 0 ? Long.MAX_VALUE : (long) (reply.getDouble(offsets[charge]) - newest);
  }

  @Override
  public byte[] stamp(int charge) {
    byte[] stamp = new byte[8];
    reply.get(offsets[charge], stamp);
    return stamp;
  }

  private int at(int charge, int rule) {
    return offsets[charge] + 16 + 12 * stacks[charge].wireIndex(rule);
  }
}
