// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.Charge;
import io.limiter.core.FailureReason;
import io.limiter.core.Mode;
import io.limiter.core.StoreException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/** Reads what {@code decide.lua} returned. */
final class DecideReply implements Taken {

  private final ByteBuffer reply;
  private final EncodedStack[] stacks;
  private final Charge[] charges;

  /** Where the reply of each charge begins; its parts follow each other. */
  private final int[] offsets;

  private final StackPart.Said[][] said;

  DecideReply(byte @Nullable [] reply, EncodedStack[] stacks, Charge[] charges, Mode mode) {
    this.stacks = stacks;
    this.charges = charges;
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
    this.said = new StackPart.Said[stacks.length][];
    for (int i = 0; i < stacks.length; i++) {
      said[i] = new StackPart.Said[stacks[i].size()];
      for (int part = 0; part < said[i].length; part++) {
        said[i][part] =
            stacks[i].part(part).read(this.reply, offset(i, part), mode, charges[i].cost());
      }
    }
  }

  @Override
  public long left(int charge, int rule) {
    return of(charge, rule).left(stacks[charge].indexInPart(rule));
  }

  @Override
  public long waitFor(int charge, int rule, boolean taken) {
    return of(charge, rule).waitFor(stacks[charge].indexInPart(rule), taken);
  }

  @Override
  public long resetAfter(int charge, int rule, boolean taken) {
    return of(charge, rule).resetAfter(stacks[charge].indexInPart(rule), taken);
  }

  @Override
  public long delay(int charge, int rule) {
    return of(charge, rule).delay(stacks[charge].indexInPart(rule));
  }

  private StackPart.Said of(int charge, int rule) {
    return said[charge][stacks[charge].partOf(rule)];
  }

  @Override
  public long bannedFor(int charge) {
    return said[charge][said[charge].length - 1].bannedFor();
  }

  @Override
  public byte[] returning(int charge) {
    EncodedStack stack = stacks[charge];
    if (stack.isLogOnly()) {
      byte[] stamp = new byte[8];
      reply.get(offsets[charge], stamp);
      return stamp;
    }
    int cells = stack.size() - 1;
    byte[] plan = stack.plan().ofTaken(charges[charge].cost());
    return ByteBuffer.allocate(8 + 8 + plan.length + 8)
        .putDouble(cells == 0 ? 0 : reply.getDouble(offsets[charge]))
        .putDouble(reply.getDouble(offset(charge, cells)))
        .put(plan)
        .putDouble((double) said[charge][cells].departure())
        .array();
  }

  @Override
  public EncodedStack stack(int charge) {
    return stacks[charge];
  }

  private int offset(int charge, int part) {
    return part == 0 ? offsets[charge] : offsets[charge] + stacks[charge].part(0).replyLength();
  }
}
