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

  private final RedisSettings settings;
  private final Charge[] charges;
  private final EncodedStack[] stacks;
  private final byte[][] keys;

  private EncodedCall(RedisSettings settings, Charge[] charges, EncodedStack[] stacks) {
    this.settings = settings;
    this.charges = charges;
    this.stacks = stacks;
    this.keys = new byte[charges.length][];
    for (int i = 0; i < keys.length; i++) {
      keys[i] = settings.name(charges[i].key());
    }
  }

  static EncodedCall of(
      LimitRequest request, RedisSettings settings, Function<RuleStack, EncodedStack> encoded) {
    Charge[] charges = new Charge[request.size()];
    EncodedStack[] stacks = new EncodedStack[charges.length];
    for (int i = 0; i < charges.length; i++) {
      charges[i] = request.charge(i);
      stacks[i] = encoded.apply(charges[i].stack());
    }
    return new EncodedCall(settings, charges, stacks);
  }

  /** Only these of its charges, in this order. */
  EncodedCall part(int[] indexes) {
    Charge[] some = new Charge[indexes.length];
    EncodedStack[] theirs = new EncodedStack[indexes.length];
    for (int i = 0; i < indexes.length; i++) {
      some[i] = charges[indexes[i]];
      theirs[i] = stacks[indexes[i]];
    }
    return new EncodedCall(settings, some, theirs);
  }

  int size() {
    return charges.length;
  }

  Charge charge(int index) {
    return charges[index];
  }

  /** One for each charge. */
  byte[][] keys() {
    return keys;
  }

  /** The key of a charge. */
  byte[] key(int charge) {
    return keys[charge];
  }

  byte[][] arguments(Mode mode) {
    byte[][] arguments = new byte[2 * keys.length][];
    for (int i = 0; i < stacks.length; i++) {
      arguments[2 * i] = stacks[i].plan().argument(mode, charges[i]);
      arguments[2 * i + 1] = stacks[i].plan().ttl();
    }
    return arguments;
  }

  /** Whether a reply is as long as one to this call is: else the connection is out of step. */
  boolean fits(byte @Nullable [] reply) {
    int length = 0;
    for (EncodedStack stack : stacks) {
      length += stack.replyLength();
    }
    return reply != null && reply.length == length;
  }

  DecideReply read(byte @Nullable [] reply, Mode mode) {
    return new DecideReply(reply, stacks, charges, mode);
  }
}
