// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.store;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import java.util.Collection;
import java.util.concurrent.CompletionStage;

/**
 * Decides and remembers. Every store keeps these promises; one suite of tests holds each to them.
 *
 * <ul>
 *   <li>All or nothing: a refused call takes nothing from any key, creates no key and prolongs
 *       none.
 *   <li>A decision is atomic, whoever else decides at the same time, and runs once at most: it is
 *       never repeated unless it is certain that it has not run.
 *   <li>Nothing is kept longer than the longest window needs, and the number of subjects that are
 *       remembered is bounded by the store's configuration or, where keys expire, by the number of
 *       calls within the longest window.
 *   <li>No method blocks or throws: a failure completes the stage with a {@link StoreException},
 *       within the store's deadline.
 *   <li>Stages complete on a thread of the store. Whoever goes on with code that is not his own
 *       goes back to his own thread.
 * </ul>
 */
public interface LimitStore extends AutoCloseable {

  /** Decides a call. */
  CompletionStage<Verdict> decide(LimitRequest request, Mode mode);

  /**
   * Forgets what it has counted under the key of a charge, and goes on from what is known instead.
   * For stores that decide in another's place; others need not be able to. Must not wait.
   */
  default void adopt(Charge charge, KnownUse known) {}

  /** Forgets all that was counted under these keys. */
  CompletionStage<Void> reset(Collection<StateKey> keys);

  /** Frees what the store holds. Decisions after that fail. */
  @Override
  void close();
}
