// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.protocol.CommandArgs;
import io.limiter.core.redis.wire.DecisionScripts.RedisScript;
import io.netty.buffer.ByteBuf;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * How calls share one EVALSHA: a single call runs {@code decide.lua}, several calls run {@code
 * decide-batch.lua}. One for each store.
 */
public final class DecisionBatching {

  /**
   * The most microseconds of Redis that the calls of a batch may need together, by the estimate of
   * {@link EncodedCall#micros}. Redis serves no other client meanwhile.
   */
  static final int MAX_MICROS = 150;

  /** The digest of the script of one call. */
  final byte[] sha;

  /** The most calls of one batch. */
  final int most;

  /** Whether all keys of a batch have to be in one slot. */
  final BooleanSupplier bySlot;

  private final RedisScript batch;
  private final byte[] batchSha;

  /**
   * @param batch {@code decide-batch.lua}
   * @param most the most calls of one batch, 2 to 255
   * @param bySlot whether all keys of a batch have to be in one slot of a Redis Cluster; those of
   *     each call are
   */
  public DecisionBatching(RedisScript decide, RedisScript batch, int most, BooleanSupplier bySlot) {
    this.sha = EncodedCall.ascii(decide.sha());
    this.batch = batch;
    this.batchSha = EncodedCall.ascii(batch.sha());
    this.most = most;
    this.bySlot = bySlot;
  }

  /** The script of several calls. */
  public RedisScript script() {
    return batch;
  }

  /** The arguments of several calls, in their order. */
  public CommandArgs<byte[], byte[]> together(List<EncodedCall> calls) {
    ByteArrayOutputStream layout = new ByteArrayOutputStream(2 * calls.size());
    List<byte[]> keys = new ArrayList<>();
    List<byte[]> plans = new ArrayList<>();
    for (EncodedCall call : calls) {
      layout.write(call.size());
      layout.write(call.keys().length);
      for (int c = 0; c < call.size(); c++) {
        layout.write(number(plans, call.plan(c), call.ttl(c)));
      }
      keys.addAll(Arrays.asList(call.keys()));
    }
    List<byte[]> all = new ArrayList<>(3 + keys.size() + plans.size());
    all.add(batchSha);
    all.add(EncodedCall.ascii(Integer.toString(keys.size())));
    all.addAll(keys);
    all.add(layout.toByteArray());
    all.addAll(plans);
    return new Joined(all);
  }

  /** The number of a plan among those of the batch, from 1 on. It is added if it is new. */
  private static int number(List<byte[]> plans, byte[] plan, byte[] ttl) {
    for (int i = 0; i < plans.size(); i += 2) {
      if (plans.get(i) == plan
          && plans.get(i + 1) == ttl) { // equal plans are often the same object
        return i / 2 + 1;
      }
    }
    plans.add(plan);
    plans.add(ttl);
    return plans.size() / 2;
  }

  private static final class Joined extends CommandArgs<byte[], byte[]> {

    private final List<byte[]> all;

    Joined(List<byte[]> all) {
      super(ByteArrayCodec.INSTANCE);
      this.all = all;
    }

    @Override
    public int count() {
      return all.size();
    }

    @Override
    public void encode(ByteBuf buffer) {
      for (byte[] argument : all) {
        EncodedCall.write(buffer, argument);
      }
    }

    /** Contains no key. */
    @Override
    public String toCommandString() {
      return new String(all.get(0), StandardCharsets.US_ASCII);
    }
  }
}
