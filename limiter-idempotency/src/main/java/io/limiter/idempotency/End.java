// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

/**
 * How a submission ends.
 *
 * @param answer what a repetition gets, any bytes, which are not copied; none unless it is an
 *     {@link Kind#ANSWER}
 */
@SuppressWarnings("ArrayRecordComponent") // compared by identity, if at all
record End(Kind kind, byte[] answer) {

  /** What follows for a repetition. */
  enum Kind {
    /** It gets the answer. */
    ANSWER,
    /** It is refused: the method has run, or may run still, and its result cannot be repeated. */
    DONE,
    /** It runs: nothing has happened, or what has happened may happen again. */
    RELEASE
  }

  private static final byte[] NONE = {};

  static final End DONE = new End(Kind.DONE, NONE);
  static final End RELEASE = new End(Kind.RELEASE, NONE);

  static End answer(byte[] answer) {
    return new End(Kind.ANSWER, answer);
  }

  /** Whether repetitions are to be kept from running. */
  boolean isKept() {
    return kind != Kind.RELEASE;
  }

  /** Without the answer. */
  @Override
  public String toString() {
    return "End[%s, %s bytes]".formatted(kind, answer.length);
  }
}
