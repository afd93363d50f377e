// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import java.time.Duration;

/**
 * What a claim has found. Arrays are not copied.
 *
 * @param body the fingerprint of the body of the first submission; empty if it is not known. The
 *     caller compares it with its own once it has read its body
 * @param answer empty unless it was answered
 * @param left for how long the key is taken, unless its claim is renewed; zero if this claim has
 *     taken it, or it belongs to another submission
 */
@SuppressWarnings("ArrayRecordComponent") // compared by identity, if at all
record Found(Kind kind, byte[] body, byte[] answer, Duration left) {

  /** What the caller may do. */
  enum Kind {
    /** A look alone: the key is free. */
    ABSENT,
    /** Run: the key is claimed for this caller. */
    CLAIMED,
    /** Wait: the submission runs, or waits for its limits. */
    RUNNING,
    /** Nothing: the key belongs to another submission (422). */
    DIFFERENT,
    /** Repeat the answer. */
    ANSWERED,
    /** Look again with the fingerprint of the body: the answer is long, and not read before. */
    UNREAD,
    /** Nothing: it has run, and its result cannot be repeated (409). */
    DONE
  }

  static Found of(Kind kind) {
    return new Found(kind, Entry.NONE, Entry.NONE, Duration.ZERO);
  }

  /** Whether the first submission has another body than this one. */
  boolean differsFrom(byte[] other) {
    return Entry.differ(body, other);
  }
}
