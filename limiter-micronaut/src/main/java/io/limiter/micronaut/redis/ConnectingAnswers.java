// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import io.limiter.core.Claim;
import io.limiter.core.StateKey;
import io.limiter.core.Submission;
import io.limiter.core.idempotency.IdempotencyStore;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;

/**
 * Delays what needs no earlier claim until the first attempt to connect has ended, without blocking
 * a thread, as the fallback delays decisions. Otherwise the first messages of a consumer, which may
 * arrive while the application starts, would fail as if Redis were away.
 */
final class ConnectingAnswers implements IdempotencyStore {

  private final IdempotencyStore store;
  private final CompletableFuture<Void> tried;

  /**
   * @param firstAttempt its result does not matter
   * @param longest the longest time for which a claim waits
   */
  ConnectingAnswers(IdempotencyStore store, CompletionStage<?> firstAttempt, Duration longest) {
    this.store = store;
    this.tried =
        firstAttempt
            .<Void>handle((opened, failure) -> null)
            .toCompletableFuture()
            .completeOnTimeout(null, longest.toMillis(), TimeUnit.MILLISECONDS);
  }

  @Override
  public CompletionStage<Claim> claim(Submission submission) {
    return tried.isDone()
        ? store.claim(submission)
        : tried.thenCompose(ended -> store.claim(submission));
  }

  @Override
  public CompletionStage<Boolean> renew(Claim claim, Duration time) {
    return store.renew(claim, time);
  }

  @Override
  public CompletionStage<Boolean> answer(Claim claim, byte[] answer, Duration retain) {
    return store.answer(claim, answer, retain);
  }

  @Override
  public CompletionStage<Boolean> release(Claim claim) {
    return store.release(claim);
  }

  @Override
  public CompletionStage<Void> forget(StateKey key) {
    return tried.isDone() ? store.forget(key) : tried.thenCompose(ended -> store.forget(key));
  }
}
