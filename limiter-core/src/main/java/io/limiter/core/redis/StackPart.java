// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.Charge;
import io.limiter.core.Mode;
import java.nio.ByteBuffer;

/**
 * Rules of one stack that share a key in Redis, as the scripts read them. A reply begins with the
 * time of the key, which its units bear. Rules are given by their index among those of this part;
 * times are microseconds.
 */
interface StackPart {

  /** A key outlives what it is needed for by this, so that it cannot expire while a script runs. */
  long SLACK_MILLIS = 1_000;

  /** What tells this part's key from the others' of the same stack, at the key's end. */
  String suffix();

  /** The plan argument of one call. */
  byte[] argument(Mode mode, Charge charge);

  /** The time to live of the key, in ms, as text. */
  byte[] ttl();

  /**
   * What {@code refund.lua} has to know beside the stamp.
   *
   * @param cost units that the call took
   */
  byte[] refundPlan(int cost);

  /** Length of the reply. */
  int replyLength();

  /**
   * What the reply to a call says.
   *
   * @param offset where the reply of this part begins
   */
  Said read(ByteBuffer reply, int offset, Mode mode, int cost);

  /** What a reply says of the rules of one part. */
  interface Said {

    /** As {@link io.limiter.core.Readings#left}. */
    long left(int rule);

    /** As {@link io.limiter.core.Readings#waitFor}. */
    long waitFor(int rule, boolean taken);

    /** As {@link io.limiter.core.Readings#resetAfter}. */
    long resetAfter(int rule, boolean taken);

    /** As {@link io.limiter.core.Readings#delay}. */
    default long delay(int rule) {
      return 0;
    }

    /** For how long the call waits, as {@link io.limiter.core.cell.Gauge#departure}. */
    default long departure() {
      return 0;
    }

    /** As {@link io.limiter.core.Readings#bannedFor}. */
    long bannedFor();
  }

  /**
   * The mode byte of a plan.
   *
   * @param observed whether the charge may not refuse the call
   */
  static byte code(Mode mode, boolean observed) {
    return switch (mode) {
      case PEEK -> 0;
      case ACQUIRE -> (byte) (observed ? 3 : 1);
      case RECORD -> 2;
    };
  }
}
