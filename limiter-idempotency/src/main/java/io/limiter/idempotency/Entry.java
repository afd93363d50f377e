// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * What a store keeps under the key of a submission, and what each command makes of it, without the
 * time to live. The scripts in Redis do the same. Immutable; arrays are not copied.
 *
 * @param token of the claim that has made it
 * @param head the fingerprint of method, path and query
 * @param body that of the body; empty as long as it is not known
 * @param answer none unless the state is {@link State#ANSWERED}
 */
@SuppressWarnings("ArrayRecordComponent") // compared by identity, if at all
record Entry(State state, byte[] token, byte[] head, byte[] body, byte[] answer) {

  /** The letters are those of values in Redis. */
  enum State {
    CLAIMED('C'),
    ANSWERED('A'),
    DONE('D');

    final char letter;

    State(char letter) {
      this.letter = letter;
    }
  }

  static final byte[] NONE = {};

  /** The value of a claim of a key that has none. */
  static Entry of(Claim claim) {
    return new Entry(State.CLAIMED, claim.token(), claim.head(), claim.body(), NONE);
  }

  /** What a claim finds here. */
  Found.Kind compare(Claim claim) {
    if (!Arrays.equals(head, claim.head()) || differ(body, claim.body())) {
      return Found.Kind.DIFFERENT;
    }
    return switch (state) {
      case CLAIMED -> Found.Kind.RUNNING;
      case ANSWERED -> Found.Kind.ANSWERED;
      case DONE -> Found.Kind.DONE;
    };
  }

  /** Whether two fingerprints of bodies are known, and differ. */
  static boolean differ(byte[] body, byte[] other) {
    return body.length > 0 && other.length > 0 && !Arrays.equals(body, other);
  }

  /** The renewed claim, with the fingerprint of its body if it is known by now; null if lost. */
  @Nullable Entry renewed(Claim claim) {
    return state == State.CLAIMED && isOf(claim)
        ? new Entry(state, token, head, known(claim), NONE)
        : null;
  }

  /**
   * What the end of a claim makes of it.
   *
   * @param hasRoom whether there is room for an answer
   */
  Change end(Claim claim, End end, boolean hasRoom) {
    if (!isOf(claim)) {
      return new Change(Kept.LOST, false, this);
    }
    if (state == State.ANSWERED) { // by this claim: the reply was lost, or this command is late
      return new Change(end.isKept() ? Kept.KEPT : Kept.LOST, false, this);
    }
    return switch (end.kind()) {
      case RELEASE -> new Change(Kept.KEPT, true, null);
      case DONE -> new Change(Kept.KEPT, true, done(claim));
      case ANSWER ->
          hasRoom
              ? new Change(
                  Kept.KEPT,
                  true,
                  new Entry(State.ANSWERED, token, head, known(claim), end.answer()))
              : new Change(Kept.AS_DONE, true, done(claim));
    };
  }

  /** Whether this claim has made it. */
  boolean isOf(Claim claim) {
    return Arrays.equals(token, claim.token());
  }

  private Entry done(Claim claim) {
    return new Entry(State.DONE, token, head, known(claim), NONE);
  }

  private byte[] known(Claim claim) {
    return body.length > 0 ? body : claim.body();
  }

  /**
   * What a command has made of a value.
   *
   * @param isWritten whether its time begins again, even if it is the same
   * @param next the value from now on; null if there is none
   */
  record Change(Kept kept, boolean isWritten, @Nullable Entry next) {}

  /** What an end has found. */
  enum Kept {
    /** It is stored; a release has freed the key. */
    KEPT,
    /** There is no room for the answer: it is stored as {@link End.Kind#DONE}. */
    AS_DONE,
    /** The user of Redis may not store an answer: it is stored as {@link End.Kind#DONE}. */
    FORBIDDEN,
    /** The claim is lost, so nothing has changed: it has expired, or was removed by its key. */
    LOST
  }
}
