// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.rule.LoggedRule;
import io.limiter.core.rule.Micros;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.StackShape;
import io.limiter.core.store.DecisionReadout;
import io.limiter.core.store.Mode;
import java.nio.ByteBuffer;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.zip.CRC32;

/** The rules of a stack that share one log of units; {@code log.lua} describes it. */
public final class EncodedLog implements StackPart {

  private static final int HEADER = 37;
  private static final int VERSION = 16;

  private final byte[] plan;
  private final int print;
  private final int[] wireOrder;
  private final long[] counts;
  private final long[] windows;
  private final long longest;
  private final StackShape shape;

  public EncodedLog(List<LoggedRule> declared) {
    this.shape = RuleStack.of(declared).shape();
    List<LoggedRule> rules =
        declared.stream().sorted(Comparator.comparing(LoggedRule::window).reversed()).toList();
    this.wireOrder =
        IntStream.range(0, rules.size()).map(i -> rules.indexOf(declared.get(i))).toArray();
    this.counts = declared.stream().mapToLong(LoggedRule::count).toArray();
    this.windows = declared.stream().mapToLong(rule -> Micros.of(rule.window())).toArray();
    this.longest = Micros.of(rules.get(0).window());
    ByteBuffer numbers = ByteBuffer.allocate(16 * rules.size());
    for (LoggedRule rule : rules) {
      numbers.putDouble((double) rule.count()).putDouble((double) Micros.of(rule.window()));
    }
    CRC32 crc = new CRC32();
    crc.update(numbers.array());
    // 0 marks a log without the cursors of any stack.
    this.print = crc.getValue() == 0 ? 1 : (int) crc.getValue();
    ByteBuffer all = ByteBuffer.allocate(numbers.capacity() + HEADER + 4 * rules.size());
    all.put(numbers.array());
    all.putInt(print).putInt(0).putDouble(0).putDouble(0);
    all.putInt((int) shape.kept()).putDouble((double) longest);
    all.put((byte) (VERSION + rules.size()));
    this.plan = all.array();
  }

  /** The number of rules. */
  int size() {
    return windows.length;
  }

  /** The layout fingerprint, with which a log of these rules begins. */
  int print() {
    return print;
  }

  /** The rules in the encoding of a plan, and the header of an empty log. */
  public byte[] plan() {
    return plan;
  }

  /** How long the log is needed after it was written. */
  long memoryMicros() {
    return longest;
  }

  @Override
  public int replyLength() {
    return 16 + 12 * wireOrder.length;
  }

  @Override
  public Said read(ByteBuffer reply, int offset, Mode mode, int cost) {
    ReplyNumbers.time(reply.getDouble(offset), ReplyNumbers.LATEST);
    LogSaid said = new LogSaid(reply, offset, cost);
    for (int rule = 0; rule < counts.length; rule++) {
      long left = ReplyNumbers.left(said.left(rule), counts[rule]);
      double wait = reply.getDouble(said.at(rule) + 4);
      boolean never = wait == DecisionReadout.NEVER && cost > counts[rule] && mode != Mode.RECORD;
      if (left < cost && !never) {
        ReplyNumbers.time(wait, (double) windows[rule]);
      }
    }
    return said;
  }

  private final class LogSaid implements Said {

    private final ByteBuffer reply;
    private final int offset;
    private final int cost;

    LogSaid(ByteBuffer reply, int offset, int cost) {
      this.reply = reply;
      this.offset = offset;
      this.cost = cost;
    }

    @Override
    public int[] taken() {
      int rule = shape.longestLog();
      return new int[] {shape.loggedUnits(cost, counts[rule] - left(rule))};
    }

    @Override
    public long left(int rule) {
      return reply.getInt(at(rule));
    }

    /**
     * A unit that this call takes is the last to come back, so it makes no difference. A unit with
     * a future stamp, which was not written by this library, counts as taken now.
     */
    @Override
    public long waitFor(int rule, boolean taken) {
      long wait = (long) reply.getDouble(at(rule) + 4);
      return wait < 0 ? DecisionReadout.NEVER : Math.min(wait, windows[rule]);
    }

    @Override
    public long resetAfter(int rule, boolean taken) {
      double newest = reply.getDouble(offset + 8);
      long since = newest == 0 ? windows[rule] : (long) (reply.getDouble(offset) - newest);
      return taken || since < 0 ? windows[rule] : Math.max(0, windows[rule] - since);
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
