// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.store.DecisionReadout;
import io.limiter.core.store.Mode;
import java.nio.ByteBuffer;

/**
 * Rules of one stack that are read alike: those with a log, or those with cells. A reply begins
 * with the time of the part, with which its units are stamped. Rules are given by their index among
 * those of this part.
 */
interface StackPart {

  /** Length of the reply. */
  int replyLength();

  /**
   * Reads the reply to a call.
   *
   * @param offset where the reply of this part begins
   */
  PartReadout read(ByteBuffer reply, int offset, Mode mode, int cost);

  /** The reply for the rules of one part. */
  interface PartReadout {

    /** See {@link io.limiter.core.store.DecisionReadout#remainingBefore}. */
    long remainingBefore(int rule);

    /** See {@link io.limiter.core.store.DecisionReadout#retryAfterMicros}. */
    long retryAfterMicros(int rule, boolean taken);

    /** See {@link io.limiter.core.store.DecisionReadout#resetAfterMicros}. */
    long resetAfterMicros(int rule, boolean taken);

    /** See {@link io.limiter.core.store.DecisionReadout#delayMicros}. */
    default long delayMicros(int rule) {
      return 0;
    }

    /**
     * The units that the call takes if it is admitted: of the log, or of each cell and the ban; the
     * ban takes none.
     */
    int[] taken();

    /**
     * For how long the call waits, see {@link io.limiter.core.state.CellReadout#departureParts}.
     */
    default long departureParts() {
      return 0;
    }

    /** See {@link io.limiter.core.store.DecisionReadout#banMicros}. */
    long banMicros();
  }

  /**
   * Checks the numbers of a reply. A reply of the right length may still come from another script,
   * or from a value that other software wrote under a key. No call is admitted, and no retry-after
   * returned, by impossible numbers.
   */
  static final class ReplyNumbers {

    /** In microseconds, the year 2255: no time is later, and doubles below it are exact. */
    static final double LATEST = 0x1p53;

    private ReplyNumbers() {}

    /**
     * Checks a time in microseconds.
     *
     * @throws StoreException if it is negative, above {@code most}, or not a number
     */
    static double timeMicros(double micros, double most) {
      if (!(micros >= 0 && micros <= most)) {
        throw strange("time", micros, 0, most);
      }
      return micros;
    }

    /**
     * Checks a retry-after of a cell, which may be {@link
     * io.limiter.core.store.DecisionReadout#NEVER}.
     */
    static long retryAfterMicros(long micros) {
      return micros == DecisionReadout.NEVER ? micros : (long) timeMicros((double) micros, LATEST);
    }

    /** Checks units that are left; they may be negative. */
    static long remainingBefore(long remainingBefore, long most) {
      if (remainingBefore > most || remainingBefore < -LATEST) {
        throw strange("number of units left", (double) remainingBefore, -LATEST, (double) most);
      }
      return remainingBefore;
    }

    /**
     * Checks a state value of a custom algorithm, which must only receive values that it has
     * written.
     */
    static double finite(double number) {
      if (!Double.isFinite(number)) {
        throw strange("number", number, -Double.MAX_VALUE, Double.MAX_VALUE);
      }
      return number;
    }

    private static StoreException strange(String what, double number, double least, double most) {
      return new StoreException(
          FailureReason.ERROR,
          "Redis answered a decision with the %s %s instead of one from %s to %s"
              .formatted(what, number, least, most),
          null);
    }
  }
}
