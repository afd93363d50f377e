// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.protocol.CommandArgs;
import io.limiter.core.store.Mode;
import io.netty.buffer.ByteBuf;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Encodes calls that may share one EVALSHA: a call alone is one of {@code decide.lua}, several are
 * one of {@code decide-batch.lua}. One for each store.
 */
public final class DecisionBatching {

  /**
   * The most microseconds of Redis that the calls of a batch may need together, by the estimate of
   * {@link EncodedCall#micros}. Redis serves no other client meanwhile.
   */
  static final int MAX_MICROS = 150;

  private final byte[] sha;
  private final RedisScript batch;
  private final byte[] batchSha;
  private final int most;
  private final boolean bySlot;

  /**
   * @param batch {@code decide-batch.lua}
   * @param most the most calls of one batch, 2 to 255
   * @param bySlot whether all keys of a batch have to be in one slot of a Redis Cluster; those of
   *     each call are
   */
  public DecisionBatching(RedisScript decide, RedisScript batch, int most, boolean bySlot) {
    this.sha = ascii(decide.sha());
    this.batch = batch;
    this.batchSha = ascii(batch.sha());
    this.most = most;
    this.bySlot = bySlot;
  }

  /** The script of several calls. */
  public RedisScript script() {
    return batch;
  }

  /**
   * Whether a call may share a command. One that records past charges, or takes long, goes alone.
   */
  public boolean admits(EncodedCall call) {
    return call.micros() <= MAX_MICROS;
  }

  /** The arguments of a call alone. */
  public Single of(EncodedCall call, Mode mode) {
    return new Single(this, call, mode);
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  /** Arguments of EVALSHA, which are encoded only if they are sent. */
  private abstract static class Arguments extends CommandArgs<byte[], byte[]> {

    Arguments() {
      super(ByteArrayCodec.INSTANCE);
    }

    /** In the order in which they are sent. */
    abstract byte[][] all();

    @Override
    public int count() {
      return all().length;
    }

    @Override
    public void encode(ByteBuf buffer) {
      for (byte[] argument : all()) {
        buffer.writeByte('$');
        writeNumber(buffer, argument.length);
        buffer.writeByte('\r').writeByte('\n');
        buffer.writeBytes(argument);
        buffer.writeByte('\r').writeByte('\n');
      }
    }

    private static void writeNumber(ByteBuf buffer, int number) {
      if (number >= 10) {
        writeNumber(buffer, number / 10);
      }
      buffer.writeByte('0' + number % 10);
    }

    /** Contains no key. */
    @Override
    public String toCommandString() {
      return new String(all()[0], StandardCharsets.US_ASCII);
    }
  }

  /** The arguments of one call. */
  public static final class Single extends Arguments {

    private final DecisionBatching batching;
    private final byte[][] keys;
    private final byte[][] plans;
    private final int micros;
    private final int slot;

    Single(DecisionBatching batching, EncodedCall call, Mode mode) {
      this.batching = batching;
      this.keys = call.keys();
      this.plans = call.arguments(mode);
      this.micros = call.micros();
      this.slot = batching.bySlot ? SlotHash.getSlot(keys[0]) : 0;
    }

    public byte[][] keys() {
      return keys;
    }

    /** The arguments after the keys. */
    public byte[][] arguments() {
      return plans;
    }

    @Override
    public int count() {
      return 2 + keys.length + plans.length;
    }

    @Override
    byte[][] all() {
      byte[][] all = new byte[count()][];
      all[0] = batching.sha;
      all[1] = ascii(Integer.toString(keys.length));
      System.arraycopy(keys, 0, all, 2, keys.length);
      System.arraycopy(plans, 0, all, 2 + keys.length, plans.length);
      return all;
    }
  }

  /** The calls of a batch that is not sent yet. */
  public static final class Batch {

    private final List<Single> calls = new ArrayList<>();
    private int micros;

    /** Whether a call may join these. */
    public boolean admits(Single call) {
      return calls.isEmpty()
          || (calls.get(0).batching == call.batching
              && calls.get(0).slot == call.slot
              && calls.size() < call.batching.most
              && micros + call.micros <= MAX_MICROS);
    }

    /** Adds a call that it {@linkplain #admits admits}. */
    public void add(Single call) {
      calls.add(call);
      micros += call.micros;
    }

    /** Whether it admits no call. */
    public boolean isFull() {
      return !calls.isEmpty() && calls.size() >= calls.get(0).batching.most;
    }

    /** The script that decides them. */
    public RedisScript script() {
      return calls.get(0).batching.batch;
    }

    /** The arguments of all calls, in their order. */
    public CommandArgs<byte[], byte[]> arguments() {
      ByteArrayOutputStream layout = new ByteArrayOutputStream(2 * calls.size());
      List<byte[]> keys = new ArrayList<>();
      List<byte[]> plans = new ArrayList<>();
      for (Single call : calls) {
        layout.write(call.keys.length);
        for (int k = 0; k < call.keys.length; k++) {
          keys.add(call.keys[k]);
          layout.write(number(plans, call.plans[2 * k], call.plans[2 * k + 1]));
        }
      }
      byte[][] all = new byte[3 + keys.size() + plans.size()][];
      all[0] = calls.get(0).batching.batchSha;
      all[1] = ascii(Integer.toString(keys.size()));
      int next = 2;
      for (byte[] key : keys) {
        all[next++] = key;
      }
      all[next++] = layout.toByteArray();
      for (byte[] plan : plans) {
        all[next++] = plan;
      }
      return new Joined(all);
    }

    /** The number of a plan among those of the batch, from 1 on. It is added if it is new. */
    private static int number(List<byte[]> plans, byte[] plan, byte[] ttl) {
      for (int i = 0; i < plans.size(); i += 2) {
        if (plans.get(i) == plan && plans.get(i + 1) == ttl) { // equal plans are often the same
          return i / 2 + 1;
        }
      }
      plans.add(plan);
      plans.add(ttl);
      return plans.size() / 2;
    }
  }

  private static final class Joined extends Arguments {

    private final byte[][] all;

    Joined(byte[][] all) {
      this.all = all;
    }

    @Override
    byte[][] all() {
      return all;
    }
  }
}
