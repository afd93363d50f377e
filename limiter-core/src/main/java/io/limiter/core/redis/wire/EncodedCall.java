// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.CommandOutput;
import io.lettuce.core.output.ValueOutput;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandType;
import io.limiter.core.Charge;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.Mode;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.rule.RuleStack;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A call, or some charges of one, in the encoding of {@code decide.lua}. It is also the EVALSHA
 * with which the call is sent alone, although it may share one with others.
 */
public final class EncodedCall extends Command<byte[], byte[], byte[]> {

  /** The number of units of one call that take Redis another microsecond. */
  private static final int COSTS_A_MICRO = 50;

  private final LimitRequest request;

  private final Mode mode;
  private final EncodedStack[] stacks;

  /** The key of each charge, followed by that of its ban, if it has one. */
  private final byte[][] keys;

  private final @Nullable DecisionBatching batching;
  private final int micros;
  private final int slot;

  /** For how long the units of a lease may be spent; 0 if the call takes no lease. */
  private final long leaseMicros;

  private EncodedCall(
      LimitRequest request,
      Mode mode,
      EncodedStack[] stacks,
      byte[][] keys,
      @Nullable DecisionBatching batching,
      long leaseMicros) {
    super(CommandType.EVALSHA, null);
    this.request = request;
    this.mode = mode;
    this.stacks = stacks;
    this.keys = keys;
    this.batching = batching;
    this.leaseMicros = leaseMicros;
    int sum = 0;
    for (int i = 0; i < stacks.length; i++) {
      long written = Math.min(charge(i).cost(), charge(i).stack().kept()); // units of a log
      sum += stacks[i].micros() + (int) written / COSTS_A_MICRO;
    }
    this.micros = sum;
    this.slot = batching != null && batching.bySlot.getAsBoolean() ? SlotHash.getSlot(keys[0]) : 0;
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
    return of(request, Mode.ACQUIRE, names, encoded, null, leaseMicros);
  }

  /**
   * @param names the names of keys in Redis
   * @param batching how calls share commands; null if this one goes alone
   */
  public static EncodedCall of(
      LimitRequest request,
      Mode mode,
      Function<StateKey, byte[]> names,
      Function<RuleStack, EncodedStack> encoded,
      @Nullable DecisionBatching batching) {
    return of(request, mode, names, encoded, batching, 0);
  }

  private static EncodedCall of(
      LimitRequest request,
      Mode mode,
      Function<StateKey, byte[]> names,
      Function<RuleStack, EncodedStack> encoded,
      @Nullable DecisionBatching batching,
      long leaseMicros) {
    EncodedStack[] stacks = new EncodedStack[request.size()];
    int count = stacks.length;
    for (int i = 0; i < stacks.length; i++) {
      stacks[i] = encoded.apply(request.charge(i).stack());
      count += stacks[i].bans() ? 1 : 0;
    }
    byte[][] keys = new byte[count][];
    int next = 0;
    for (int i = 0; i < stacks.length; i++) {
      StateKey key = request.charge(i).key();
      keys[next++] = names.apply(key);
      if (stacks[i].bans()) {
        keys[next++] = names.apply(key.ban());
      }
    }
    return new EncodedCall(request, mode, stacks, keys, batching, leaseMicros);
  }

  /** Returns a call with only these charges of this whole call, in this order. */
  public EncodedCall part(int[] indexes, Mode partMode) {
    EncodedStack[] theirs = new EncodedStack[indexes.length];
    List<byte[]> names = new ArrayList<>();
    List<Charge> charges = new ArrayList<>();
    for (int i = 0; i < indexes.length; i++) {
      theirs[i] = stacks[indexes[i]];
      charges.add(charge(indexes[i]));
      int first = firstKey(indexes[i]);
      names.addAll(Arrays.asList(keys).subList(first, first + (theirs[i].bans() ? 2 : 1)));
    }
    LimitRequest part =
        new LimitRequest(request.policy(), charges, Optional.empty()).after(request.past());
    byte[][] some = names.toArray(byte[][]::new);
    return new EncodedCall(part, partMode, theirs, some, batching, 0);
  }

  /** The index of the key of a charge. */
  private int firstKey(int charge) {
    int index = 0;
    for (int i = 0; i < charge; i++) {
      index += stacks[i].bans() ? 2 : 1;
    }
    return index;
  }

  /** Whether there are past units to be recorded; none while Redis answers. */
  public boolean hasPast() {
    return !request.past().isEmpty();
  }

  /**
   * Takes the past units under the keys of this call, to be recorded before it: for each the key,
   * then the arguments of {@code decide.lua}.
   */
  public Map<PastCharge, byte[][]> takeRecords() {
    Map<PastCharge, byte[][]> records = new LinkedHashMap<>();
    for (PastCharge some : request.past()) {
      long ageMicros = Math.max(1, MICROSECONDS.convert(some.age()));
      for (int c = 0; c < stacks.length; c++) {
        if (charge(c).key().equals(some.charge().key()) && some.markSent()) {
          records.put(
              some,
              new byte[][] {
                key(c),
                stacks[c].argumentOfRules(Mode.RECORD, some.charge()),
                stacks[c].ttlOfRecord(ageMicros),
                ascii(Long.toString(ageMicros))
              });
        }
      }
    }
    return records;
  }

  public int size() {
    return stacks.length;
  }

  public Charge charge(int index) {
    return request.charge(index);
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
    return keys[firstKey(charge)];
  }

  /** The arguments after the keys. */
  public byte[][] arguments() {
    byte[][] arguments = new byte[2 * stacks.length + (leaseMicros > 0 ? 1 : 0)][];
    for (int i = 0; i < stacks.length; i++) {
      arguments[2 * i] = plan(i);
      arguments[2 * i + 1] = ttl(i);
    }
    if (leaseMicros > 0) {
      arguments[2 * stacks.length] = ascii(Long.toString(-leaseMicros));
    }
    return arguments;
  }

  /** The plan of a charge; often the same object for equal plans. */
  byte[] plan(int charge) {
    return leaseMicros > 0
        ? stacks[charge].argumentOfLease(charge(charge).cost())
        : stacks[charge].argument(mode, charge(charge));
  }

  /** The time to live of the key of a charge. */
  byte[] ttl(int charge) {
    return stacks[charge].ttl();
  }

  /**
   * The arguments after the keys, as if this process's clock showed another time; see {@code
   * fixed-window.lua}.
   */
  public byte[][] argumentsAt(long micros) {
    byte[][] others = arguments();
    for (int i = 0; i < stacks.length; i++) {
      others[2 * i] = stacks[i].argumentAt(micros, others[2 * i]);
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
    return stacks.length == 1 && stacks[0].bans();
  }

  /** The plan of the only charge without its ban. */
  public byte[] planOfRules(Mode asked) {
    return stacks[0].argumentOfRules(asked, charge(0));
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
      joined[0] = ChargeReply.BANNED;
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

  /** Created once the call is sent alone. */
  @Override
  public CommandOutput<byte[], byte[], byte[]> getOutput() {
    if (output == null) {
      output = new ValueOutput<>(ByteArrayCodec.INSTANCE);
    }
    return output;
  }

  @Override
  public void encode(ByteBuf buffer) {
    writeLine(buffer, '*', 3 + keys.length + 2 * stacks.length);
    write(buffer, CommandType.EVALSHA.getBytes());
    write(buffer, Objects.requireNonNull(batching, "a call that goes alone").sha);
    write(buffer, keys.length);
    for (byte[] key : keys) {
      write(buffer, key);
    }
    for (int i = 0; i < stacks.length; i++) {
      write(buffer, plan(i));
      write(buffer, ttl(i));
    }
  }

  /** Writes one argument of a command. */
  static void write(ByteBuf buffer, byte[] argument) {
    writeLine(buffer, '$', argument.length);
    buffer.writeBytes(argument);
    buffer.writeByte('\r').writeByte('\n');
  }

  private static void write(ByteBuf buffer, int number) {
    int digits = 1;
    for (int rest = number; rest >= 10; rest /= 10) {
      digits++;
    }
    writeLine(buffer, '$', digits);
    writeNumber(buffer, number);
    buffer.writeByte('\r').writeByte('\n');
  }

  private static void writeLine(ByteBuf buffer, char type, int number) {
    buffer.writeByte(type);
    writeNumber(buffer, number);
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

  /**
   * Reads the reply to each charge.
   *
   * @throws StoreException if it does not {@linkplain #fits fit}, or if its numbers are impossible
   */
  public ChargeReply[] read(byte @Nullable [] reply) {
    if (reply == null || !fits(reply)) {
      throw new StoreException(
          FailureReason.ERROR,
          "Redis replied to a decision with %s bytes instead of %s"
              .formatted(reply == null ? "no" : reply.length, replyLength()),
          null);
    }
    ChargeReply[] charges = new ChargeReply[stacks.length];
    int offset = 0;
    for (int c = 0; c < charges.length; c++) {
      charges[c] = new ChargeReply(this, c, reply, offset);
      offset += stacks[c].replyLength();
    }
    return charges;
  }
}
