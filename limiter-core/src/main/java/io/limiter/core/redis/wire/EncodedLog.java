// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.StoreException;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.store.DecisionReadout;
import java.nio.ByteBuffer;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * The rules of a stack that share one log of units, if there are any; {@code log.lua} describes it.
 * Rules are given by their index in the stack.
 */
final class EncodedLog {

  /** No unit of a log is newer than the clock by more, in microseconds. */
  private static final double LONGEST_LEASE = MICROSECONDS.convert(Rule.MAX_LEASE);

  /** Bytes of a head without cells and cursors, without a log and with one. */
  private static final int HEAD = 32;

  private static final int LOG_HEAD = 36;

  private final RuleStack stack;
  private final byte[] plan;

  /** Where the numbers of each rule are in the reply. */
  private final int[] places;

  EncodedLog(RuleStack stack) {
    this.stack = stack;
    this.places = new int[stack.rules().size()];
    int[] byWindow =
        IntStream.range(0, places.length)
            .filter(stack::isLog)
            .boxed()
            .sorted(Comparator.comparing(stack::windowMicros, Comparator.reverseOrder()))
            .mapToInt(rule -> rule)
            .toArray();
    ByteBuffer numbers = ByteBuffer.allocate(byWindow.length == 0 ? 0 : 16 * byWindow.length + 4);
    for (int i = 0; i < byWindow.length; i++) {
      places[byWindow[i]] = 8 + 12 * i;
      numbers
          .putDouble((double) stack.rules().get(byWindow[i]).count())
          .putDouble((double) stack.windowMicros(byWindow[i]));
    }
    if (byWindow.length > 0) {
      numbers.putInt((int) stack.kept());
    }
    this.plan = numbers.array();
  }

  /** The rules in the encoding of a plan, and the most units that they need. */
  byte[] plan() {
    return plan;
  }

  /** Length of the head of a value with this log, without cells. */
  int headLength() {
    return stack.logs() == 0 ? HEAD : LOG_HEAD + 4 * stack.logs();
  }

  /** Length of the reply, without the time of the decision. */
  int replyLength() {
    return stack.logs() == 0 ? 0 : 8 + 12 * stack.logs();
  }

  /**
   * Checks that the numbers of a reply are possible.
   *
   * @param offset where the reply of the log begins
   * @param nowMicros the time of the decision
   * @throws StoreException if they are not
   */
  void check(ByteBuffer reply, int offset, long nowMicros) {
    if (stack.logs() == 0) {
      return;
    }
    ChargeReply.timeMicros(reply.getDouble(offset), (double) nowMicros + LONGEST_LEASE);
    for (int rule = 0; rule < places.length; rule++) {
      if (stack.isLog(rule)) {
        ChargeReply.checkRemaining(remainingBefore(reply, offset, rule), stack.rules().get(rule));
      }
    }
  }

  /** The units that the call takes from the log if it is admitted. */
  int taken(ByteBuffer reply, int offset, int cost) {
    int rule = stack.longestLog();
    return rule < 0
        ? 0
        : stack.loggedUnits(
            cost, stack.rules().get(rule).count() - remainingBefore(reply, offset, rule));
  }

  /** See {@link DecisionReadout#remainingBefore}. */
  long remainingBefore(ByteBuffer reply, int offset, int rule) {
    return reply.getInt(offset + places[rule]);
  }

  /**
   * See {@link DecisionReadout#retryAfterMicros}.
   *
   * @throws StoreException if the time is impossible
   */
  long retryAfterMicros(ByteBuffer reply, int offset, int rule, int cost) {
    double micros = reply.getDouble(offset + places[rule] + 4);
    return micros == DecisionReadout.NEVER && cost > stack.rules().get(rule).count()
        ? DecisionReadout.NEVER
        : (long) ChargeReply.timeMicros(micros, (double) stack.windowMicros(rule) + LONGEST_LEASE);
  }

  /**
   * See {@link DecisionReadout#resetAfterMicros}.
   *
   * @param nowMicros the time of the decision
   * @param leaseMicros for how long its units may be spent
   */
  long resetAfterMicros(
      ByteBuffer reply, int offset, int rule, boolean taken, long nowMicros, long leaseMicros) {
    long windowMicros = stack.windowMicros(rule);
    double newestMicros =
        taken ? stampMicros(reply, offset, nowMicros, leaseMicros) : reply.getDouble(offset);
    return (long) Math.max(0, windowMicros - (nowMicros - newestMicros));
  }

  /** The stamp of the units of a call: behind those of a lease, since a log is in order. */
  double stampMicros(ByteBuffer reply, int offset, long nowMicros, long leaseMicros) {
    double ownMicros = (double) (nowMicros + leaseMicros);
    return stack.logs() == 0 ? (double) nowMicros : Math.max(ownMicros, reply.getDouble(offset));
  }
}
