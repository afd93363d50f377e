// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import io.limiter.core.Key;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Receipt;
import io.limiter.core.Source;
import io.limiter.core.Verdict;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * The fallback of those who fail closed: it refuses every call, in every mode, as {@link
 * Outcome#UNAVAILABLE}. It has counted nothing, so it says nothing of any rule, and what is
 * recorded with it is lost.
 */
public final class RefusingStore implements LimitStore {

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    return CompletableFuture.completedFuture(
        new Verdict(
            request.policy(),
            Outcome.UNAVAILABLE,
            List.of(),
            Optional.empty(),
            Source.STORE,
            Optional.empty(),
            Receipt.NOTHING));
  }

  /** There is nothing to forget. */
  @Override
  public CompletionStage<Void> reset(Collection<Key> keys) {
    return CompletableFuture.completedFuture(null);
  }

  /** Holds nothing. */
  @Override
  public void close() {}
}
