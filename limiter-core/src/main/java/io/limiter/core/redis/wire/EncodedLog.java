// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import java.nio.ByteBuffer;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * The rules of a stack that share one log of units, if there are any; {@code log.lua} describes it.
 * Rules are given by their index in the stack.
 */
final class EncodedLog {

  /** Bytes of a head without cells and cursors, without a log and with one. */
  private static final int HEAD = 32;

  private static final int LOG_HEAD = 36;

  /**
   * Is added to the window of a claimed duplicate guard: 35 years. So it is there until its key
   * expires, which its process decides, and not the time since its call began.
   */
  private static final long UNTIL_EXPIRY = 1L << 50;

  private final RuleStack stack;
  private final byte[] plan;

  /** Where the numbers of each rule are in the reply: units that remain, and a time. */
  final int[] places;

  /** The count of each rule. */
  final long[] counts;

  /** What the script adds to each window, in microseconds; 0 without a claim. */
  final long addedMicros;

  /** Length of the reply, without the time of the decision. */
  final int replyLength;

  EncodedLog(RuleStack stack) {
    this.stack = stack;
    this.places = new int[stack.rules().size()];
    this.counts = stack.rules().stream().mapToLong(Rule::count).toArray();
    this.addedMicros = stack.claim().isZero() ? 0 : UNTIL_EXPIRY;
    this.replyLength = stack.logs() == 0 ? 0 : 8 + 12 * stack.logs();
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
          .putDouble((double) counts[byWindow[i]])
          .putDouble((double) (stack.windowMicros(byWindow[i]) + addedMicros));
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
}
