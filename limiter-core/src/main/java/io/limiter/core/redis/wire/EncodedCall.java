// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.protocol.CommandArgs;
import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.StateKey;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.store.Mode;
import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A call, or some charges of one, in the encoding of {@code decide.lua}. It is also the arguments
 * of the EVALSHA with which the call is sent alone, although it may share one with others.
 */
public final class EncodedCall extends CommandArgs<byte[], byte[]> {

  /** The unit in which the number of past charges is added to the mode byte of the first plan. */
  private static final int PAST = 4;

  /** So many units of one call take Redis another microsecond. */
  private static final int COSTS_A_MICRO = 50;

  private final Function<StateKey, byte[]> names;
  private final @Nullable DecisionBatching batching;
  private final Mode mode;
  private final Charge[] charges;
  private final EncodedStack[] stacks;
  private final List<EncodedPast> past;
  private final byte[][] keys;
  private final byte[][] arguments;
  private final int micros;
  private final int slot;

  /** Units that were taken while Redis was away, and the plan that records them. */
  private record EncodedPast(PastCharge taken, EncodedStack stack) {

    /** A key that only the first script with these units sets. */
    StateKey marker() {
      return new StateKey(taken.charge().key().tag(), "p." + taken.id());
    }

    byte[] age() {
      return ascii(Long.toString(MICROSECONDS.convert(taken.age())));
    }
  }

  private EncodedCall(
      Function<StateKey, byte[]> names,
      @Nullable DecisionBatching batching,
      Mode mode,
      Charge[] charges,
      EncodedStack[] stacks,
      List<EncodedPast> past) {
    super(ByteArrayCodec.INSTANCE);
    this.names = names;
    this.batching = batching;
    this.mode = mode;
    this.charges = charges;
    this.stacks = stacks;
    this.past = past;
    this.keys = new byte[charges.length + 2 * past.size()][];
    this.arguments = new byte[2 * charges.length + 3 * past.size()][];
    int sum = 0;
    for (int i = 0; i < charges.length; i++) {
      keys[i] = names.apply(charges[i].key());
      arguments[2 * i] = stacks[i].argument(mode, charges[i]);
      arguments[2 * i + 1] = stacks[i].ttl();
      sum += stacks[i].micros() + charges[i].cost() / COSTS_A_MICRO;
    }
    this.micros = sum;
    this.slot = batching != null && batching.bySlot.getAsBoolean() ? SlotHash.getSlot(keys[0]) : 0;
    if (!past.isEmpty()) {
      addPast();
    }
  }

  private void addPast() {
    arguments[0] = arguments[0].clone();
    arguments[0][0] += (byte) (PAST * past.size());
    int nextKey = charges.length;
    int next = 2 * charges.length;
    for (EncodedPast one : past) {
      Charge charge = one.taken().charge();
      keys[nextKey++] = names.apply(charge.key());
      keys[nextKey++] = names.apply(one.marker());
      arguments[next++] = one.stack().argument(Mode.RECORD, charge);
      arguments[next++] = one.stack().ttl();
      arguments[next++] = one.age();
    }
  }

  /** A call that always goes alone. */
  public static EncodedCall of(
      LimitRequest request,
      Mode mode,
      Function<StateKey, byte[]> names,
      Function<RuleStack, EncodedStack> encoded) {
    return of(request, mode, names, encoded, null);
  }

  /**
   * @param names the names of keys in Redis
   * @param batching how calls share commands; null if they do not
   */
  public static EncodedCall of(
      LimitRequest request,
      Mode mode,
      Function<StateKey, byte[]> names,
      Function<RuleStack, EncodedStack> encoded,
      @Nullable DecisionBatching batching) {
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
    return new EncodedCall(names, batching, mode, charges, stacks, past);
  }

  /** Returns a call with only these charges, in this order. */
  public EncodedCall part(int[] indexes, Mode partMode) {
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
    return new EncodedCall(names, batching, partMode, some, theirs, theirPast);
  }

  public int size() {
    return charges.length;
  }

  public Charge charge(int index) {
    return charges[index];
  }

  EncodedStack stack(int charge) {
    return stacks[charge];
  }

  public Mode mode() {
    return mode;
  }

  /** One for each charge, followed by those of the past charges. */
  public byte[][] keys() {
    return keys;
  }

  /** The key of a charge. */
  public byte[] key(int charge) {
    return keys[charge];
  }

  /** The arguments after the keys. */
  public byte[][] arguments() {
    return arguments;
  }

  /** How calls share commands; null if this one goes alone. */
  public @Nullable DecisionBatching batching() {
    return batching;
  }

  /** An estimate of how long Redis takes for the call, in microseconds. */
  public int micros() {
    return micros;
  }

  /**
   * Whether the call may share a command. One that records past charges, or takes long, goes alone.
   */
  public boolean mayShare() {
    return batching != null && past.isEmpty() && micros <= DecisionBatching.MAX_MICROS;
  }

  /**
   * Whether the call may join others in one command; all of them {@linkplain #mayShare may share}
   * one.
   *
   * @param first one of the others
   * @param size the number of the others
   * @param theirMicros their {@link #micros} together
   */
  public boolean mayJoin(EncodedCall first, int size, int theirMicros) {
    return batching == first.batching && slot == first.slot && !isFull(size, theirMicros);
  }

  /**
   * Whether a command of so many calls has no room for one more like this.
   *
   * @param theirMicros their {@link #micros} together
   */
  public boolean isFull(int size, int theirMicros) {
    return batching == null
        || size >= batching.most
        || theirMicros + micros > DecisionBatching.MAX_MICROS;
  }

  @Override
  public int count() {
    return 2 + keys.length + arguments.length;
  }

  @Override
  public void encode(ByteBuf buffer) {
    write(buffer, sha());
    write(buffer, ascii(Integer.toString(keys.length)));
    for (byte[] key : keys) {
      write(buffer, key);
    }
    for (byte[] argument : arguments) {
      write(buffer, argument);
    }
  }

  /** Contains no key. */
  @Override
  public String toCommandString() {
    return new String(sha(), StandardCharsets.US_ASCII);
  }

  private byte[] sha() {
    return Objects.requireNonNull(batching, "a call that goes alone").sha;
  }

  /** Writes one argument of a command. */
  static void write(ByteBuf buffer, byte[] argument) {
    buffer.writeByte('$');
    writeNumber(buffer, argument.length);
    buffer.writeByte('\r').writeByte('\n');
    buffer.writeBytes(argument);
    buffer.writeByte('\r').writeByte('\n');
  }

  private static void writeNumber(ByteBuf buffer, int number) {
    if (number >= 10) {
      writeNumber(buffer, number / 10);
    }
    buffer.writeByte('0' + number % 10);
  }

  static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  /**
   * Whether a reply has the length of a reply to this call; otherwise the connection is out of
   * step.
   */
  public boolean fits(byte @Nullable [] reply) {
    return reply != null && reply.length == replyLength();
  }

  int replyLength() {
    int length = 0;
    for (EncodedStack stack : stacks) {
      length += stack.replyLength();
    }
    return length;
  }

  public DecideReply read(byte @Nullable [] reply) {
    return DecideReply.of(this, reply);
  }
}
