// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.Outcome;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
import java.util.Collection;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Gives all calls the same answer, in every mode: {@link Outcome#ALLOWED} to fail open, {@link
 * Outcome#UNAVAILABLE} to fail closed. It counts nothing, so its verdicts contain no rule, and
 * recorded units are lost.
 */
final class FixedAnswerStore implements LimitStore {

  private final Outcome outcome;

  FixedAnswerStore(Outcome outcome) {
    this.outcome = outcome;
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    return CompletableFuture.completedFuture(
        Verdict.of(request.policy(), outcome).decidedBy(DecidedBy.NONE).build());
  }

  /** There is no state to reset. */
  @Override
  public CompletionStage<Void> reset(Collection<StateKey> keys) {
    return CompletableFuture.completedFuture(null);
  }

  /** There is no ban to lift. */
  @Override
  public CompletionStage<Void> liftBans(Collection<StateKey> keys) {
    return CompletableFuture.completedFuture(null);
  }

  /** There is nothing to close. */
  @Override
  public void close() {}
}
