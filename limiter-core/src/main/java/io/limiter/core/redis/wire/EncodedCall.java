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
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
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

  /** The number of units of one call that take Redis another microsecond. */
  private static final int COSTS_A_MICRO = 50;

  private final Function<StateKey, byte[]> names;
  private final @Nullable DecisionBatching batching;
  private final Mode mode;
  private final Charge[] charges;
  private final EncodedStack[] stacks;
  private final List<PastCharge> past;
  private final byte[][] keys;
  private final byte[][] arguments;

  /** The index of the key of each charge; followed by that of its ban, if it has one. */
  private final int[] firstKeys;

  private final int micros;
  private final int slot;

  /** For how long the units of a lease may be spent; 0 if the call takes no lease. */
  private final long leaseMicros;

  private EncodedCall(
      Function<StateKey, byte[]> names,
      @Nullable DecisionBatching batching,
      Mode mode,
      Charge[] charges,
      EncodedStack[] stacks,
      List<PastCharge> past,
      long leaseMicros) {
    super(ByteArrayCodec.INSTANCE);
    this.names = names;
    this.batching = batching;
    this.mode = mode;
    this.charges = charges;
    this.stacks = stacks;
    this.past = past;
    this.firstKeys = new int[charges.length];
    int count = 0;
    for (int i = 0; i < charges.length; i++) {
      firstKeys[i] = count;
      count += stacks[i].bans() ? 2 : 1;
    }
    this.keys = new byte[count][];
    this.leaseMicros = leaseMicros;
    this.arguments = new byte[2 * charges.length + (leaseMicros > 0 ? 1 : 0)][];
    int sum = 0;
    for (int i = 0; i < charges.length; i++) {
      StateKey key = charges[i].key();
      keys[firstKeys[i]] = names.apply(key);
      if (stacks[i].bans()) {
        keys[firstKeys[i] + 1] = names.apply(key.ban());
      }
      arguments[2 * i] =
          leaseMicros > 0
              ? stacks[i].argumentOfLease(charges[i].cost())
              : stacks[i].argument(mode, charges[i]);
      arguments[2 * i + 1] = stacks[i].ttl();
      sum += stacks[i].micros() + charges[i].cost() / COSTS_A_MICRO;
    }
    if (leaseMicros > 0) {
      arguments[2 * charges.length] = ascii(Long.toString(-leaseMicros));
    }
    this.micros = sum;
    this.slot = batching != null && batching.bySlot.getAsBoolean() ? SlotHash.getSlot(keys[0]) : 0;
  }

  /** Encodes a call that is always sent alone. */
  public static EncodedCall of(
      LimitRequest request,
      Mode mode,
      Function<StateKey, byte[]> names,
      Function<RuleStack, EncodedStack> encoded) {
    return of(request, mode, names, encoded, null);
  }

  /**
   * Encodes a call that takes units of one subject in advance.
   *
   * @param request one charge, whose cost is the number of units
   * @param leaseMicros for how long they may be spent
   */
  public static EncodedCall ofLease(
      LimitRequest request,
      long leaseMicros,
      Function<StateKey, byte[]> names,
      Function<RuleStack, EncodedStack> encoded) {
    Charge[] charges = {request.charge(0)};
    EncodedStack[] stacks = {encoded.apply(charges[0].stack())};
    return new EncodedCall(names, null, Mode.ACQUIRE, charges, stacks, request.past(), leaseMicros);
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
    return new EncodedCall(names, batching, mode, charges, stacks, request.past(), 0);
  }

  /** Returns a call with only these charges, in this order. */
  public EncodedCall part(int[] indexes, Mode partMode) {
    Charge[] some = new Charge[indexes.length];
    EncodedStack[] theirs = new EncodedStack[indexes.length];
    for (int i = 0; i < indexes.length; i++) {
      some[i] = charges[indexes[i]];
      theirs[i] = stacks[indexes[i]];
    }
    return new EncodedCall(names, batching, partMode, some, theirs, past, 0);
  }

  /**
   * Takes the past units under the keys of this call, to be recorded before it: for each the key,
   * then the arguments of {@code decide.lua}.
   */
  public List<byte[][]> takeRecords() {
    if (past.isEmpty()) {
      return List.of(); // while Redis answers
    }
    List<byte[][]> records = new ArrayList<>();
    for (PastCharge some : past) {
      for (int c = 0; c < charges.length; c++) {
        if (charges[c].key().equals(some.charge().key()) && some.take()) {
          records.add(
              new byte[][] {
                keys[firstKeys[c]],
                stacks[c].argumentOfRules(Mode.RECORD, some.charge()),
                stacks[c].ttlOfRecord(),
                ascii(Long.toString(Math.max(1, MICROSECONDS.convert(some.age()))))
              });
        }
      }
    }
    return records;
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

  /** For how long the units of a lease may be spent; 0 if the call takes no lease. */
  long leaseMicros() {
    return leaseMicros;
  }

  /** One for each charge, each followed by that of its ban, if there is one. */
  public byte[][] keys() {
    return keys;
  }

  /** The key of a charge. */
  public byte[] key(int charge) {
    return keys[firstKeys[charge]];
  }

  /** The arguments after the keys. */
  public byte[][] arguments() {
    return arguments;
  }

  /**
   * The arguments after the keys, as if this process's clock showed another time; see {@code
   * fixed-window.lua}.
   */
  public byte[][] argumentsAt(long micros) {
    byte[][] others = arguments.clone();
    for (int i = 0; i < stacks.length; i++) {
      others[2 * i] = stacks[i].argumentAt(micros, arguments[2 * i]);
    }
    return others;
  }

  /** How calls share commands; null if this one goes alone. */
  public @Nullable DecisionBatching batching() {
    return batching;
  }

  /** An estimate of how long Redis takes for the call, in microseconds. */
  public int micros() {
    return micros;
  }

  /** Whether the call may share a command. One that takes long goes alone. */
  public boolean mayShare() {
    return batching != null && micros <= DecisionBatching.MAX_MICROS;
  }

  /**
   * Whether the call is one charge with a ban: two keys of one slot. While the slot migrates, they
   * are asked one after the other, by {@link #planOfRules} and {@link #planOfBan}.
   */
  public boolean isOneWithBan() {
    return charges.length == 1 && stacks[0].bans();
  }

  /** The plan of the only charge without its ban. */
  public byte[] planOfRules(Mode asked) {
    return stacks[0].argumentOfRules(asked, charges[0]);
  }

  /** A plan that asks for the ban of the only charge, or counts a violation. */
  public byte[] planOfBan(Mode asked) {
    return stacks[0].ofBan(asked);
  }

  /** Joins the replies to {@link #planOfRules} and {@link #planOfBan}. */
  public byte[] join(byte[] ofRules, double banMicros) {
    byte[] joined = Arrays.copyOf(ofRules, ofRules.length + Double.BYTES);
    ByteBuffer.wrap(joined).putDouble(ofRules.length, banMicros);
    if (banMicros > 0) {
      joined[0] = DecideReply.BANNED;
    }
    return joined;
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
