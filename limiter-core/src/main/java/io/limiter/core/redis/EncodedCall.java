// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.RuleStack;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A call, or some charges of one, as {@code decide.lua} reads it and answers. */
final class EncodedCall {

  private final Charge[] charges;
  private final EncodedStack[] stacks;
  private final byte[][] keys;

  private EncodedCall(Charge[] charges, EncodedStack[] stacks, byte[][] keys) {
    this.charges = charges;
    this.stacks = stacks;
    this.keys = keys;
  }

  static EncodedCall of(
      LimitRequest request, RedisSettings settings, Function<RuleStack, EncodedStack> encoded) {
    int size = request.size();
    EncodedCall call = new EncodedCall(new Charge[size], new EncodedStack[size], new byte[size][]);
    for (int i = 0; i < size; i++) {
      Charge charge = request.charge(i);
      call.charges[i] = charge;
      call.stacks[i] = encoded.apply(charge.stack());
      call.keys[i] = settings.name(charge.key());
    }
    return call;
  }

  /** Only these of its charges, in this order. */
  EncodedCall part(int[] indexes) {
    EncodedCall part =
        new EncodedCall(
            new Charge[indexes.length],
            new EncodedStack[indexes.length],
            new byte[indexes.length][]);
    for (int i = 0; i < indexes.length; i++) {
      part.charges[i] = charges[indexes[i]];
      part.stacks[i] = stacks[indexes[i]];
      part.keys[i] = keys[indexes[i]];
    }
    return part;
  }

  int size() {
    return charges.length;
  }

  Charge charge(int index) {
    return charges[index];
  }

  byte[][] keys() {
    return keys;
  }

  byte[][] arguments(Mode mode) {
    byte[][] arguments = new byte[2 * charges.length][];
    for (int i = 0; i < charges.length; i++) {
      arguments[2 * i] = stacks[i].argument(mode, charges[i].cost());
      arguments[2 * i + 1] = stacks[i].ttl();
    }
    return arguments;
  }

  DecideReply read(byte @Nullable [] reply) {
    return new DecideReply(reply, stacks);
  }
}
