// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.Charge;
import io.limiter.core.Key;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.PastCharge;
import io.limiter.core.Readings;
import io.limiter.core.RuleStack;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A call, or some charges of one, as {@code decide.lua} reads it and answers. */
final class EncodedCall {

  /** In the mode of the first plan, a byte: what is past is counted in units of this. */
  private static final int PAST = 4;

  private final RedisSettings settings;
  private final Charge[] charges;
  private final EncodedStack[] stacks;
  private final byte[][] keys;
  private final List<PastUnits> past;

  /** Units that were taken while Redis was away, and the plan that records them. */
  private record PastUnits(PastCharge taken, StackPlan plan) {

    /** Which only the first script sets that brings them. */
    Key marker() {
      return new Key(taken.charge().key().tag(), "p." + taken.id());
    }

    byte[] age() {
      return Long.toString(Readings.micros(taken.age())).getBytes(StandardCharsets.US_ASCII);
    }
  }

  private EncodedCall(
      RedisSettings settings, Charge[] charges, EncodedStack[] stacks, List<PastUnits> past) {
    this.settings = settings;
    this.charges = charges;
    this.stacks = stacks;
    this.past = past;
    this.keys = new byte[charges.length + 2 * past.size()][];
    for (int i = 0; i < charges.length; i++) {
      keys[i] = settings.name(charges[i].key());
    }
    for (int i = 0; i < past.size(); i++) {
      keys[charges.length + 2 * i] = settings.name(past.get(i).taken().charge().key());
      keys[charges.length + 2 * i + 1] = settings.name(past.get(i).marker());
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
    List<PastUnits> past = List.of();
    if (!request.past().isEmpty()) {
      past =
          request.past().stream()
              .map(one -> new PastUnits(one, encoded.apply(one.charge().stack()).plan()))
              .toList();
    }
    return new EncodedCall(settings, charges, stacks, past);
  }

  /** Only these of its charges, in this order. */
  EncodedCall part(int[] indexes) {
    Charge[] some = new Charge[indexes.length];
    EncodedStack[] theirs = new EncodedStack[indexes.length];
    for (int i = 0; i < indexes.length; i++) {
      some[i] = charges[indexes[i]];
      theirs[i] = stacks[indexes[i]];
    }
    List<PastUnits> theirPast =
        past.stream()
            .filter(
                one ->
                    Arrays.stream(some)
                        .anyMatch(
                            charge -> charge.key().tag().equals(one.taken().charge().key().tag())))
            .toList();
    return new EncodedCall(settings, some, theirs, theirPast);
  }

  int size() {
    return charges.length;
  }

  Charge charge(int index) {
    return charges[index];
  }

  /** One for each charge; behind them those of what is past. */
  byte[][] keys() {
    return keys;
  }

  /** The key of a charge. */
  byte[] key(int charge) {
    return keys[charge];
  }

  byte[][] arguments(Mode mode) {
    int own = 2 * charges.length;
    byte[][] arguments = new byte[own + 3 * past.size()][];
    for (int i = 0; i < stacks.length; i++) {
      arguments[2 * i] = stacks[i].plan().argument(mode, charges[i]);
      arguments[2 * i + 1] = stacks[i].plan().ttl();
    }
    if (!past.isEmpty()) {
      arguments[0] = arguments[0].clone();
      arguments[0][0] += (byte) (PAST * past.size());
      for (int i = 0; i < past.size(); i++) {
        PastUnits one = past.get(i);
        arguments[own + 3 * i] = one.plan().argument(Mode.RECORD, one.taken().charge());
        arguments[own + 3 * i + 1] = one.plan().ttl();
        arguments[own + 3 * i + 2] = one.age();
      }
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
