// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.StoreException;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.Rule.LoggedRule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.store.DecisionReadout;
import io.limiter.core.store.Mode;
import java.nio.ByteBuffer;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/** The rules of a stack that share one log of units; {@code log.lua} describes it. */
public final class EncodedLog {

  /** No unit of a log is newer than the clock by more, in microseconds. */
  private static final double LONGEST_LEASE = MICROSECONDS.convert(Rule.MAX_LEASE);

  /** Bytes of a head before the cursors. */
  static final int HEAD = 36;

  private final byte[] plan;
  private final int[] wireOrder;
  private final long[] counts;
  private final long[] windowsMicros;
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
    ByteBuffer numbers = ByteBuffer.allocate(16 * rules.size() + 4);
    for (LoggedRule rule : rules) {
      numbers
          .putDouble((double) rule.count())
          .putDouble((double) MICROSECONDS.convert(rule.window()));
    }
    this.plan = numbers.putInt((int) stack.kept()).array();
  }

  /** The number of rules. */
  int size() {
    return windowsMicros.length;
  }

  /** The rules in the encoding of a plan, and the most units that they need. */
  public byte[] plan() {
    return plan;
  }

  /** Length of the head of a value with this log, without cells. */
  int headLength() {
    return HEAD + 4 * size();
  }

  /** How long the log is needed after it was written. */
  long memoryMicros() {
    return stack.horizonMicros();
  }

  /** Length of the reply, without the time of the decision. */
  int replyLength() {
    return 8 + 12 * wireOrder.length;
  }

  /**
   * Checks that the numbers of a reply are possible.
   *
   * @param offset where the reply of the log begins
   * @param nowMicros the time of the decision
   * @throws StoreException if they are not
   */
  void check(ByteBuffer reply, int offset, long nowMicros, Mode mode, int cost) {
    DecideReply.timeMicros(reply.getDouble(offset), (double) nowMicros + LONGEST_LEASE);
    for (int rule = 0; rule < counts.length; rule++) {
      long remainingBefore =
          DecideReply.remainingBefore(remainingBefore(reply, offset, rule), counts[rule]);
      double retryAfterMicros = reply.getDouble(at(offset, rule) + 4);
      boolean never =
          retryAfterMicros == DecisionReadout.NEVER && cost > counts[rule] && mode != Mode.RECORD;
      if (remainingBefore < cost && !never) {
        DecideReply.timeMicros(retryAfterMicros, (double) windowsMicros[rule] + LONGEST_LEASE);
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

  long retryAfterMicros(ByteBuffer reply, int offset, int rule) {
    long micros = (long) reply.getDouble(at(offset, rule) + 4);
    return micros < 0 ? DecisionReadout.NEVER : micros;
  }

  /**
   * See {@link DecisionReadout#resetAfterMicros}.
   *
   * @param nowMicros the time of the decision
   * @param leaseMicros for how long its units may be spent
   */
  long resetAfterMicros(
      ByteBuffer reply, int offset, int rule, boolean taken, double nowMicros, long leaseMicros) {
    double newestMicros = reply.getDouble(offset);
    return taken
        ? windowsMicros[rule]
            + (long) (stampMicros(reply, offset, nowMicros, leaseMicros) - nowMicros)
        : Math.max(
            0,
            windowsMicros[rule]
                - (long) Math.min((double) windowsMicros[rule], nowMicros - newestMicros));
  }

  /** The stamp of the units of a call: behind those of a lease, since a log is in order. */
  double stampMicros(ByteBuffer reply, int offset, double nowMicros, long leaseMicros) {
    return Math.max(nowMicros + leaseMicros, reply.getDouble(offset));
  }

  private int at(int offset, int rule) {
    return offset + 8 + 12 * wireOrder[rule];
  }
}
