// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.server;

import io.lettuce.core.codec.Base16;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Answers at once, as {@code decide.lua} would to a caller who has one call left. One for each
 * number of rules, since the reply is longer the more there are; only for rules of one log.
 *
 * @param text the source
 * @param sha the name that Redis gives it
 */
record NoOpScript(String text, String sha) {

  private static final int MAX_RULES = 8;

  /** Where {@code decide.lua} reads how many rules there are, in the first of its arguments. */
  private static final int SIZE_AT = 5;

  /** That is so many times the rules that read the log, and the number of cells. */
  private static final int RULES = 16;

  /** What a call takes; no rule has less, and more than its count no rule may be said to have. */
  private static final int LEFT = 1;

  /** The status that such a reply begins with. */
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
          "A decision with %d arguments and the size %d in the first: the no-op script stands in for rules of one log only"
              .formatted(values.length, size));
    }
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
