// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.core.Charge;
import io.limiter.core.Claim;
import io.limiter.core.LimitRequest;
import io.limiter.core.Submission;
import io.limiter.core.Verdict;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
import io.limiter.micronaut.call.SubmissionClaims.Result;
import io.limiter.micronaut.exception.InvalidCallException.ReusedIdempotencyKeyException;
import io.limiter.micronaut.plan.LimitPlan;
import io.micronaut.context.BeanProvider;
import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Decides calls unless their {@code Idempotency-Key} was used for another request, where
 * repetitions are denied. The gate reads the request; where the guard decides, it hands the digest
 * over.
 */
@Internal
@Singleton
public final class KeyComparison {

  private static final String DIGEST = "io.limiter.digest";

  private final BeanProvider<SubmissionClaims> claims;
  private final List<SubmissionClaims.Listener> listeners;

  KeyComparison(BeanProvider<SubmissionClaims> claims, List<SubmissionClaims.Listener> listeners) {
    this.claims = claims;
    this.listeners = List.copyOf(listeners);
  }

  /** Leaves the digest of a request to the guard, which decides its call. */
  public static void handOver(HttpRequest<?> request, byte[] digest) {
    request.setAttribute(DIGEST, digest);
  }

  /** The digest that the gate has left; null if there is none. */
  public static byte @Nullable [] digest(HttpRequest<?> request) {
    return request.getAttribute(DIGEST).orElse(null) instanceof byte[] digest ? digest : null;
  }

  /**
   * Decides a call. If its key was used for another request, the verdict is a {@linkplain
   * Verdict#isRepetition repetition}, and the call is charged nothing. A store that cannot compare
   * and decide at once is asked to compare first; if that fails, it only decides.
   */
  public CompletionStage<Verdict> decide(LimitStore store, LimitRequest call, byte[] digest) {
    Optional<Charge> guard = call.duplicate().filter(charge -> !charge.observed());
    if (guard.isEmpty()) {
      return store.decide(call, Mode.ACQUIRE);
    }
    Submission submission =
        Submission.compared(
            guard.get().key().answer(), digest, guard.get().stack().rules().get(0).window());
    LimitRequest submitted = call.submitting(submission);
    if (store.claims(submitted)) {
      return store.decide(submitted, Mode.ACQUIRE);
    }
    SubmissionClaims from = claims.get();
    return from.compare(submission)
        .thenApply(Optional::of)
        .exceptionally(failure -> Optional.empty())
        .thenCompose(
            found -> {
              Claim.State state = found.map(Claim::state).orElse(Claim.State.RUNNING);
              if (state == Claim.State.DIFFERENT) {
                return CompletableFuture.completedFuture(
                    Verdict.free(call.policy()).withClaim(found.orElseThrow()));
              }
              // A store may be the application's: it may throw, or complete with null.
              CompletionStage<Verdict> decided =
                  CompletableFuture.completedFuture(call)
                      .thenCompose(asked -> store.decide(asked, Mode.ACQUIRE));
              return state != Claim.State.CLAIMED
                  ? decided
                  : decided.whenComplete(
                      (verdict, failure) -> {
                        boolean made = failure == null && verdict != null && verdict.allowed();
                        if (!made) {
                          var unused = from.forget(found.orElseThrow());
                        }
                      });
            });
  }

  /** The failure of a call whose key was used for another request. */
  public ReusedIdempotencyKeyException reused(LimitPlan plan) {
    listeners.forEach(listener -> listener.claimed(Optional.of(plan), Result.DIFFERENT));
    return new ReusedIdempotencyKeyException();
  }
}
