// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.Mode;
import io.limiter.core.Readings;
import io.limiter.core.Rule;
import io.limiter.core.RuleStack;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.zip.CRC32;

/** A stack of rules as {@code decide.lua} reads it; made once for each stack. */
final class EncodedStack {

  /** Bytes before the rules in a plan: mode, cost, number of rules, fingerprint. */
  private static final int PREAMBLE = 1 + 4 + 1 + 4;

  private static final int HEADER = 37;
  private static final int VERSION = 16;

  /** A key outlives its newest unit by this, so that it cannot expire while the script runs. */
  private static final long SLACK_MILLIS = 1_000;

  private final byte[] plan;
  private final byte[] acquireOne;
  private final byte[] ttl;
  private final int[] wireOrder;

  EncodedStack(RuleStack stack) {
    List<Rule> declared = stack.rules();
    List<Rule> rules =
        declared.stream().sorted(Comparator.comparing(Rule::window).reversed()).toList();
    this.wireOrder =
        IntStream.range(0, rules.size()).map(i -> rules.indexOf(declared.get(i))).toArray();
    this.plan = plan(rules);
    this.acquireOne = encode(Mode.ACQUIRE, 1);
    long millis = (Readings.micros(rules.get(0).window()) + 999) / 1_000 + SLACK_MILLIS;
    this.ttl = Long.toString(millis).getBytes(StandardCharsets.US_ASCII);
  }

  private static byte[] plan(List<Rule> rules) {
    ByteBuffer numbers = ByteBuffer.allocate(16 * rules.size());
    long keep = 0;
    for (Rule rule : rules) {
      numbers.putDouble((double) rule.count()).putDouble((double) Readings.micros(rule.window()));
      keep = Math.max(keep, rule.count());
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

  /** The plan argument of one call. */
  byte[] argument(Mode mode, int cost) {
    return mode == Mode.ACQUIRE && cost == 1 ? acquireOne : encode(mode, cost);
  }

  private byte[] encode(Mode mode, int cost) {
    byte[] argument = plan.clone();
    ByteBuffer.wrap(argument).put(code(mode)).putInt(cost);
    return argument;
  }

  private static byte code(Mode mode) {
    return switch (mode) {
      case PEEK -> 0;
      case ACQUIRE -> 1;
      case RECORD -> 2;
    };
  }

  /** The time to live of the key, in ms, as text. */
  byte[] ttl() {
    return ttl;
  }

  /** Where the reply has the rule that was declared at this index. */
  int wireIndex(int declared) {
    return wireOrder[declared];
  }

  /** Length of the reply for one key. */
  int replyLength() {
    return 16 + 12 * wireOrder.length;
  }
}
