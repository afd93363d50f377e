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
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Looks at nothing and gives all calls the same answer, in every mode: {@link Outcome#ALLOWED} for
 * those who fail open, {@link Outcome#UNAVAILABLE} for those who fail closed. It has counted
 * nothing, so it says nothing of any rule, and what is recorded with it is lost.
 */
final class UndecidedStore implements LimitStore {

  private final Outcome outcome;

  UndecidedStore(Outcome outcome) {
    this.outcome = outcome;
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    return CompletableFuture.completedFuture(
        new Verdict(
            request.policy(),
            outcome,
            List.of(),
            Optional.empty(),
            Optional.empty(),
            Duration.ZERO,
            Source.NONE,
            Optional.empty(),
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
