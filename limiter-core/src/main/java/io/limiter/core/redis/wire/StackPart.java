// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

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
}
