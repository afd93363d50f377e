// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.Outcome;
import io.limiter.core.Reservation;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
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
final class FixedAnswerStore implements LimitStore {

  private final Outcome outcome;

  FixedAnswerStore(Outcome outcome) {
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
            DecidedBy.NONE,
            Optional.empty(),
            Optional.empty(),
            Reservation.NOTHING));
  }

  /** There is nothing to forget. */
  @Override
  public CompletionStage<Void> reset(Collection<StateKey> keys) {
    return CompletableFuture.completedFuture(null);
  }

  /** Holds nothing. */
  @Override
  public void close() {}
}
