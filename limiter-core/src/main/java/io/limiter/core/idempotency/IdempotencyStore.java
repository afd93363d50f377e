// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.idempotency;

import io.limiter.core.Claim;
import io.limiter.core.LimitRequest;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Submission;
import java.time.Duration;
import java.util.concurrent.CompletionStage;

/**
 * Keeps for each submission a claim while it runs, and its answer afterwards.
 *
 * <p>Implementations are thread-safe. No method blocks. If the store gives no answer, the stage
 * fails with a {@link StoreException}; then it is unknown whether the store has done what it was
 * asked to do.
 *
 * <p>Every entry has a time to live. Times are rounded up to milliseconds, and are limited to the
 * range from a millisecond to 366 days.
 */
public interface IdempotencyStore {

  /**
   * Claims a submission for a time, unless it runs or was answered. If the stage fails because the
   * reply is late, the store releases the claim when the reply arrives.
   *
   * @see LimitRequest#submitting to claim it with the decision on a call
   */
  CompletionStage<Claim> claim(Submission submission);

  /**
   * Extends a claim, which then lives for this time from now on. Completes with {@code false} if
   * the claim is lost: it has expired, was released, or has its answer. A lost claim is never
   * revived.
   */
  CompletionStage<Boolean> renew(Claim claim, Duration time);

  /**
   * Replaces a claim by its answer. Completes with {@code false}, and stores nothing, if the claim
   * is lost, so that a method that outlives its claim cannot replace a newer answer. Completes with
   * {@code true} if this claim has been answered already; the first answer remains.
   *
   * @param answer any bytes, also none
   * @param retain how long the answer is kept
   */
  CompletionStage<Boolean> answer(Claim claim, byte[] answer, Duration retain);

  /**
   * Frees a claim that has no answer, so that the submission may be made again. Completes with
   * {@code false} if the claim is lost. Never deletes an answer, or another claim.
   */
  CompletionStage<Boolean> release(Claim claim);

  /** Removes the claim or the answer of a submission, whichever claim it belongs to. */
  CompletionStage<Void> forget(StateKey key);
}
