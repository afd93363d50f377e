// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.server;

import io.lettuce.core.codec.Base16;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Answers at once, as {@code decide.lua} would to a caller with one call left. There is one for
 * each number of rules, since the reply grows with it; only for rules of one log.
 *
 * @param text the source
 * @param sha its name in Redis
 */
record NoOpScript(String text, String sha) {

  private static final int MAX_RULES = 8;

  /** The position of the number of rules in the first argument of {@code decide.lua}. */
  private static final int SIZE_AT = 5;

  /** The byte there is this number times the rules that read the log, plus the number of cells. */
  private static final int RULES = 16;

  /** The units left in each reply: enough for one call, and no more than the count of any rule. */
  private static final int LEFT = 1;

  /** The status with which such a reply begins. */
  private static final byte ADMITTED = 'A';

  private static final List<NoOpScript> BY_RULES =
      IntStream.rangeClosed(1, MAX_RULES).mapToObj(NoOpScript::forRules).toList();

  /**
   * @param values the arguments of a decision
   */
  static NoOpScript of(byte[]... values) {
    int size = values[0][SIZE_AT] & 0xFF;
    int rules = size / RULES;
    if (values.length != 2 || rules < 1 || rules > MAX_RULES || size % RULES > 0) {
      throw new IllegalStateException(
          "A decision with %s arguments and the size %s in the first: the no-op script stands in for rules of one log only"
              .formatted(values.length, size));
    }
    return ofRules(rules);
  }

  /**
   * @param rules 1 to 8
   */
  static NoOpScript ofRules(int rules) {
    return BY_RULES.get(rules - 1);
  }

  private static NoOpScript forRules(int rules) {
    ByteBuffer reply = ByteBuffer.allocate(1 + 16 + 12 * rules).put(ADMITTED);
    for (int rule = 0; rule < rules; rule++) {
      reply.putInt(1 + 16 + 12 * rule, LEFT);
    }
    StringBuilder text = new StringBuilder("return '");
    for (byte part : reply.array()) {
      text.append("\\%03d".formatted(part & 0xFF));
    }
    String source = text.append('\'').toString();
    return new NoOpScript(source, Base16.digest(source.getBytes(StandardCharsets.US_ASCII)));
  }
}
