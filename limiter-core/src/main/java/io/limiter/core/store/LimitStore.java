// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.store;

import io.limiter.core.Charge;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import java.util.Collection;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Decides calls and keeps the state of subjects. Every store gives the following guarantees; one
 * test suite checks them for each store.
 *
 * <ul>
 *   <li>All or nothing: a denied call takes nothing under any key, creates no key and extends the
 *       life of none.
 *   <li>A decision is atomic under concurrency and runs at most once: it is repeated only if it is
 *       certain that it has not run.
 *   <li>Nothing is kept longer than the longest window requires. The number of subjects is bounded
 *       by the store's configuration or, where keys expire, by the number of calls within the
 *       longest window.
 *   <li>No method blocks or throws: a failure completes the stage with a {@link StoreException},
 *       within the store's deadline.
 *   <li>Stages complete on a thread of the store. A caller that continues with application code
 *       must switch to a thread of its own first.
 * </ul>
 */
public interface LimitStore extends AutoCloseable {

  /** Decides a call. */
  CompletionStage<Verdict> decide(LimitRequest request, Mode mode);

  /**
   * Replaces what this store has counted under the key of a charge by what is known from elsewhere.
   * For stores that decide in place of another one; other stores need not implement it. Must not
   * block.
   */
  default void adopt(Charge charge, KnownUse known) {}

  /** Forgets everything that was counted under these keys. */
  CompletionStage<Void> reset(Collection<StateKey> keys);

  /**
   * Lifts the bans of the subjects of these keys, and keeps everything that was counted. A lifted
   * ban is as one that never was: the denials that caused it are forgotten, and the next ban is as
   * long as a first one. Does nothing under a key without a ban. A store that does not implement it
   * fails.
   */
  default CompletionStage<Void> liftBans(Collection<StateKey> keys) {
    return CompletableFuture.failedFuture(
        new StoreException(
            FailureReason.ERROR,
            "%s cannot lift bans: implement LimitStore.liftBans, or reset the subject"
                .formatted(getClass().getName()),
            null));
  }

  /** Frees the store's resources. Later decisions fail. */
  @Override
  void close();
}
