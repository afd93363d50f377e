// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.Charge;
import io.limiter.core.LoggedRule;
import io.limiter.core.Mode;
import io.limiter.core.Readings;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.zip.CRC32;

/** The rules of a stack that read one log of units; {@code decide.lua} describes it. */
final class EncodedLog implements StackPart {

  /** Bytes before the rules in a plan: mode, cost, number of rules, fingerprint. */
  private static final int PREAMBLE = 1 + 4 + 1 + 4;

  private static final int HEADER = 37;
  private static final int VERSION = 16;

  private final byte[] plan;
  private final byte[] acquireOne;
  private final byte[] ttl;
  private final int[] wireOrder;
  private final long[] windows;

  EncodedLog(List<LoggedRule> declared) {
    List<LoggedRule> rules =
        declared.stream().sorted(Comparator.comparing(LoggedRule::window).reversed()).toList();
    this.wireOrder =
        IntStream.range(0, rules.size()).map(i -> rules.indexOf(declared.get(i))).toArray();
    this.windows = declared.stream().mapToLong(rule -> Readings.micros(rule.window())).toArray();
    this.plan = plan(rules);
    this.acquireOne = encode(StackPart.code(Mode.ACQUIRE, false), 1);
    long millis = (Readings.micros(rules.get(0).window()) + 999) / 1_000 + SLACK_MILLIS;
    this.ttl = Long.toString(millis).getBytes(StandardCharsets.US_ASCII);
  }

  private static byte[] plan(List<LoggedRule> rules) {
    ByteBuffer numbers = ByteBuffer.allocate(16 * rules.size());
    long keep = 0;
    for (LoggedRule rule : rules) {
      numbers.putDouble((double) rule.count()).putDouble((double) Readings.micros(rule.window()));
      keep = Math.max(keep, rule.kept());
    }
    CRC32 crc = new CRC32();
    crc.update(numbers.array());
    // 0 marks a log that no stack's cursors belong to.
    int fingerprint = crc.getValue() == 0 ? 1 : (int) crc.getValue();
    ByteBuffer plan =
        ByteBuffer.allocate(PREAMBLE + numbers.capacity() + HEADER + 4 * rules.size());
    plan.position(5);
    plan.put((byte) rules.size()).putInt(fingerprint).put(numbers.array());
    plan.putInt(fingerprint).putInt(0).putDouble(0).putDouble(0);
    plan.putInt((int) keep).putDouble((double) Readings.micros(rules.get(0).window()));
    plan.put((byte) (VERSION + rules.size()));
    return plan.array();
  }

  @Override
  public String suffix() {
    return "";
  }

  @Override
  public byte[] argument(Mode mode, Charge charge) {
    return mode == Mode.ACQUIRE && charge.cost() == 1 && !charge.observed()
        ? acquireOne
        : encode(StackPart.code(mode, charge.observed()), charge.cost());
  }

  private byte[] encode(byte mode, int cost) {
    byte[] argument = plan.clone();
    ByteBuffer.wrap(argument).put(mode).putInt(cost);
    return argument;
  }

  /**
   * What {@code renew.lua} is told of the units of a call.
   *
   * @param stamp 8 bytes
   */
  byte[] renewal(byte[] stamp, int cost) {
    byte[] argument = new byte[stamp.length + plan.length];
    ByteBuffer.wrap(argument).put(stamp).put(encode((byte) 2, cost));
    return argument;
  }

  @Override
  public byte[] ttl() {
    return ttl;
  }

  /** The stamp tells all. */
  @Override
  public byte[] refundPlan(int cost) {
    return new byte[0];
  }

  @Override
  public int replyLength() {
    return 16 + 12 * wireOrder.length;
  }

  @Override
  public Said read(ByteBuffer reply, int offset, Mode mode, int cost) {
    return new LogSaid(reply, offset);
  }

  private final class LogSaid implements Said {

    private final ByteBuffer reply;
    private final int offset;

    LogSaid(ByteBuffer reply, int offset) {
      this.reply = reply;
      this.offset = offset;
    }

    @Override
    public long left(int rule) {
      return reply.getInt(at(rule));
    }

    /** A unit that this call takes is the last to come back, so it makes no difference. */
    @Override
    public long waitFor(int rule, boolean taken) {
      return (long) reply.getDouble(at(rule) + 4);
    }

    @Override
    public long resetAfter(int rule, boolean taken) {
      double newest = reply.getDouble(offset + 8);
      long since = newest == 0 ? windows[rule] : (long) (reply.getDouble(offset) - newest);
      return taken ? windows[rule] : Math.max(0, windows[rule] - since);
    }

    @Override
    public long bannedFor() {
      return 0;
    }

    private int at(int rule) {
      return offset + 16 + 12 * wireOrder[rule];
    }
  }
}
