// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * What a decision took, and the way to give it back to the very store that it was taken from. Each
 * of the two can be done once; a second time does nothing. Units that have left their windows
 * meanwhile are not given back: they are free already.
 *
 * <p>The stages complete with the number of units found, or exceptionally with a {@link
 * StoreException}; they are never retried, so that nothing is given back twice.
 */
public interface Receipt {

  /** A receipt for nothing: the call was refused, or only looked. */
  Receipt NOTHING =
      new Receipt() {
        @Override
        public CompletionStage<Long> refund() {
          return CompletableFuture.completedFuture(0L);
        }

        @Override
        public CompletionStage<Long> release() {
          return CompletableFuture.completedFuture(0L);
        }
      };

  /** Gives back all units, as if the call had never been made, and releases the duplicate guard. */
  CompletionStage<Long> refund();

  /** Releases the duplicate guard only, so that the same submission may be made again. */
  CompletionStage<Long> release();
}
