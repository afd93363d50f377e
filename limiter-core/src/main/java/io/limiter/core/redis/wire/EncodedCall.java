// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.StateKey;
import io.limiter.core.rule.Micros;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.store.Mode;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A call, or some charges of one, in the encoding of {@code decide.lua}. */
public final class EncodedCall {

  /** The unit in which the number of past charges is added to the mode byte of the first plan. */
  private static final int PAST = 4;

  /** So many units of one call take Redis another microsecond. */
  private static final int COSTS_A_MICRO = 50;

  private final Function<StateKey, byte[]> names;
  private final Charge[] charges;
  private final EncodedStack[] stacks;
  private final byte[][] keys;
  private final List<EncodedPast> past;

  /** Units that were taken while Redis was away, and the plan that records them. */
  private record EncodedPast(PastCharge taken, EncodedStack stack) {

    /** A key that only the first script with these units sets. */
    StateKey marker() {
      return new StateKey(taken.charge().key().tag(), "p." + taken.id());
    }

    byte[] age() {
      return Long.toString(Micros.of(taken.age())).getBytes(StandardCharsets.US_ASCII);
    }
  }

  private EncodedCall(
      Function<StateKey, byte[]> names,
      Charge[] charges,
      EncodedStack[] stacks,
      List<EncodedPast> past) {
    this.names = names;
    this.charges = charges;
    this.stacks = stacks;
    this.past = past;
    this.keys = new byte[charges.length + 2 * past.size()][];
    for (int i = 0; i < charges.length; i++) {
      keys[i] = names.apply(charges[i].key());
    }
    for (int i = 0; i < past.size(); i++) {
      keys[charges.length + 2 * i] = names.apply(past.get(i).taken().charge().key());
      keys[charges.length + 2 * i + 1] = names.apply(past.get(i).marker());
    }
  }

  public static EncodedCall of(
      LimitRequest request,
      Function<StateKey, byte[]> names,
      Function<RuleStack, EncodedStack> encoded) {
    Charge[] charges = new Charge[request.size()];
    EncodedStack[] stacks = new EncodedStack[charges.length];
    for (int i = 0; i < charges.length; i++) {
      charges[i] = request.charge(i);
      stacks[i] = encoded.apply(charges[i].stack());
    }
    List<EncodedPast> past = List.of();
    if (!request.past().isEmpty()) {
      past =
          request.past().stream()
              .map(one -> new EncodedPast(one, encoded.apply(one.charge().stack())))
              .toList();
    }
    return new EncodedCall(names, charges, stacks, past);
  }

  /** Returns a call with only these charges, in this order. */
  public EncodedCall part(int[] indexes) {
    Charge[] some = new Charge[indexes.length];
    EncodedStack[] theirs = new EncodedStack[indexes.length];
    for (int i = 0; i < indexes.length; i++) {
      some[i] = charges[indexes[i]];
      theirs[i] = stacks[indexes[i]];
    }
    List<EncodedPast> theirPast =
        past.stream()
            .filter(
                one ->
                    Arrays.stream(some)
                        .anyMatch(
                            charge -> charge.key().tag().equals(one.taken().charge().key().tag())))
            .toList();
    return new EncodedCall(names, some, theirs, theirPast);
  }

  public int size() {
    return charges.length;
  }

  public Charge charge(int index) {
    return charges[index];
  }

  /**
   * An estimate of how long Redis takes for the call, in microseconds; {@link Integer#MAX_VALUE} if
   * it records past charges.
   */
  int micros() {
    if (!past.isEmpty()) {
      return Integer.MAX_VALUE;
    }
    int micros = 0;
    for (int i = 0; i < stacks.length; i++) {
      micros += stacks[i].micros() + charges[i].cost() / COSTS_A_MICRO;
    }
    return micros;
  }

  /** One for each charge, followed by those of the past charges. */
  public byte[][] keys() {
    return keys;
  }

  /** The key of a charge. */
  public byte[] key(int charge) {
    return keys[charge];
  }

  public byte[][] arguments(Mode mode) {
    int own = 2 * charges.length;
    byte[][] arguments = new byte[own + 3 * past.size()][];
    for (int i = 0; i < stacks.length; i++) {
      arguments[2 * i] = stacks[i].argument(mode, charges[i]);
      arguments[2 * i + 1] = stacks[i].ttl();
    }
    if (!past.isEmpty()) {
      arguments[0] = arguments[0].clone();
      arguments[0][0] += (byte) (PAST * past.size());
      for (int i = 0; i < past.size(); i++) {
        EncodedPast one = past.get(i);
        arguments[own + 3 * i] = one.stack().argument(Mode.RECORD, one.taken().charge());
        arguments[own + 3 * i + 1] = one.stack().ttl();
        arguments[own + 3 * i + 2] = one.age();
      }
    }
    return arguments;
  }

  /**
   * Whether a reply has the length of a reply to this call; otherwise the connection is out of
   * step.
   */
  public boolean fits(byte @Nullable [] reply) {
    int length = 0;
    for (EncodedStack stack : stacks) {
      length += stack.replyLength();
    }
    return reply != null && reply.length == length;
  }

  public DecideReply read(byte @Nullable [] reply, Mode mode) {
    return new DecideReply(reply, stacks, charges, mode);
  }
}
