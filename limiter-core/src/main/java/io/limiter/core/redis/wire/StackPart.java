// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.store.Mode;
import java.nio.ByteBuffer;

/**
 * Rules of one stack that are read alike: those with a log, or those with cells. A reply begins
 * with the time of the part, which its units bear. Rules are given by their index among those of
 * this part; times are microseconds.
 */
interface StackPart {

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

    /** As {@link io.limiter.core.store.DecisionReadout#left}. */
    long left(int rule);

    /** As {@link io.limiter.core.store.DecisionReadout#waitFor}. */
    long waitFor(int rule, boolean taken);

    /** As {@link io.limiter.core.store.DecisionReadout#resetAfter}. */
    long resetAfter(int rule, boolean taken);

    /** As {@link io.limiter.core.store.DecisionReadout#delay}. */
    default long delay(int rule) {
      return 0;
    }

    /**
     * The units that the call has taken, should it be admitted: of the log, or of each cell and the
     * ban, which takes none.
     */
    int[] taken();

    /** For how long the call waits, as {@link io.limiter.core.state.CellReadout#departure}. */
    default long departure() {
      return 0;
    }

    /** As {@link io.limiter.core.store.DecisionReadout#bannedFor}. */
    long bannedFor();
  }
}
