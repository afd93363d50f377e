// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/** A fault of one reply, after some that pass. */
final class ReplyFault {

  private final boolean cuts;
  private final UnaryOperator<List<byte[]>> outcome;
  private int passing;

  private ReplyFault(int passing, boolean cuts, UnaryOperator<List<byte[]>> outcome) {
    this.passing = passing;
    this.cuts = cuts;
    this.outcome = outcome;
  }

  /** The client sees RST instead of the reply. */
  static ReplyFault cut(int passing) {
    return new ReplyFault(passing, true, reply -> List.of());
  }

  /** The client sees these texts, or nothing, instead of the reply. */
  static ReplyFault instead(int passing, String... texts) {
    return instead(
        passing, Stream.of(texts).map(text -> text.getBytes(StandardCharsets.US_ASCII)).toList());
  }

  /** The client sees these bytes instead of the reply. */
  static ReplyFault instead(int passing, List<byte[]> others) {
    return new ReplyFault(passing, false, reply -> others);
  }

  static ReplyFault twice(int passing) {
    return new ReplyFault(
        passing, false, reply -> Stream.concat(reply.stream(), reply.stream()).toList());
  }

  /** Whether the next reply passes. Call it once for each. */
  boolean passes() {
    return passing-- > 0;
  }

  boolean cuts() {
    return cuts;
  }

  List<byte[]> outcome(byte[] reply) {
    return outcome.apply(List.of(reply));
  }
}
