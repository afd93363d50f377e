// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.StoreException;
import io.limiter.core.rule.Rule.LoggedRule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.store.DecisionReadout;
import io.limiter.core.store.Mode;
import java.nio.ByteBuffer;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.zip.CRC32;

/** The rules of a stack that share one log of units; {@code log.lua} describes it. */
public final class EncodedLog {

  private static final int HEADER = 37;
  private static final int VERSION = 16;

  private final byte[] plan;
  private final int fingerprint;
  private final int[] wireOrder;
  private final long[] counts;
  private final long[] windowsMicros;
  private final long longestMicros;
  private final RuleStack stack;

  public EncodedLog(List<LoggedRule> declared) {
    this.stack = RuleStack.of(declared);
    List<LoggedRule> rules =
        declared.stream().sorted(Comparator.comparing(LoggedRule::window).reversed()).toList();
    this.wireOrder =
        IntStream.range(0, rules.size()).map(i -> rules.indexOf(declared.get(i))).toArray();
    this.counts = declared.stream().mapToLong(LoggedRule::count).toArray();
    this.windowsMicros =
        declared.stream().mapToLong(rule -> MICROSECONDS.convert(rule.window())).toArray();
    this.longestMicros = MICROSECONDS.convert(rules.get(0).window());
    ByteBuffer numbers = ByteBuffer.allocate(16 * rules.size());
    for (LoggedRule rule : rules) {
      numbers
          .putDouble((double) rule.count())
          .putDouble((double) MICROSECONDS.convert(rule.window()));
    }
    CRC32 crc = new CRC32();
    crc.update(numbers.array());
    // 0 marks a log without the cursors of any stack.
    this.fingerprint = crc.getValue() == 0 ? 1 : (int) crc.getValue();
    ByteBuffer all = ByteBuffer.allocate(numbers.capacity() + HEADER + 4 * rules.size());
    all.put(numbers.array());
    all.putInt(fingerprint).putInt(0).putDouble(0).putDouble(0);
    all.putInt((int) stack.kept()).putDouble((double) longestMicros);
    all.put((byte) (VERSION + rules.size()));
    this.plan = all.array();
  }

  /** The number of rules. */
  int size() {
    return windowsMicros.length;
  }

  /** The layout fingerprint, with which a log of these rules begins. */
  int fingerprint() {
    return fingerprint;
  }

  /** The rules in the encoding of a plan, and the header of an empty log. */
  public byte[] plan() {
    return plan;
  }

  /** How long the log is needed after it was written. */
  long memoryMicros() {
    return longestMicros;
  }

  /** Length of the reply. */
  int replyLength() {
    return 16 + 12 * wireOrder.length;
  }

  /**
   * Checks that the numbers of a reply are possible.
   *
   * @param offset where the reply of the log begins, with its time
   * @throws StoreException if they are not
   */
  void check(ByteBuffer reply, int offset, Mode mode, int cost) {
    DecideReply.timeMicros(reply.getDouble(offset), DecideReply.LATEST);
    for (int rule = 0; rule < counts.length; rule++) {
      long remainingBefore =
          DecideReply.remainingBefore(remainingBefore(reply, offset, rule), counts[rule]);
      double retryAfterMicros = reply.getDouble(at(offset, rule) + 4);
      boolean never =
          retryAfterMicros == DecisionReadout.NEVER && cost > counts[rule] && mode != Mode.RECORD;
      if (remainingBefore < cost && !never) {
        DecideReply.timeMicros(retryAfterMicros, (double) windowsMicros[rule]);
      }
    }
  }

  /** The units that the call takes from the log if it is admitted. */
  int taken(ByteBuffer reply, int offset, int cost) {
    int rule = stack.longestLog();
    return stack.loggedUnits(cost, counts[rule] - remainingBefore(reply, offset, rule));
  }

  /** See {@link DecisionReadout#remainingBefore}; the rule is given by its index in the log. */
  long remainingBefore(ByteBuffer reply, int offset, int rule) {
    return reply.getInt(at(offset, rule));
  }

  /** A unit with a future stamp, which was not written by this library, counts as taken now. */
  long retryAfterMicros(ByteBuffer reply, int offset, int rule) {
    long micros = (long) reply.getDouble(at(offset, rule) + 4);
    return micros < 0 ? DecisionReadout.NEVER : Math.min(micros, windowsMicros[rule]);
  }

  /** See {@link DecisionReadout#resetAfterMicros}. */
  long resetAfterMicros(ByteBuffer reply, int offset, int rule, boolean taken) {
    double newestMicros = reply.getDouble(offset + 8);
    long sinceMicros =
        newestMicros == 0 ? windowsMicros[rule] : (long) (reply.getDouble(offset) - newestMicros);
    return taken || sinceMicros < 0
        ? windowsMicros[rule]
        : Math.max(0, windowsMicros[rule] - sinceMicros);
  }

  private int at(int offset, int rule) {
    return offset + 16 + 12 * wireOrder[rule];
  }
}
