// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import io.limiter.core.Verdict;
import io.limiter.micronaut.plan.CallEnd;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.Ticket;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A call that may enter its method.
 *
 * @param ticket the request's ticket, if the method is the request's route: then the answer sees to
 *     failures that are not seen to here
 * @param end the end of the call, which the answer sees to if its ticket says so
 */
record Admission(LimitPlan plan, Verdict verdict, Optional<Ticket> ticket, CallEnd end) {

  private static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);

  /** Takes it from the answer to see to failures. */
  void settled() {
    if (ticket.isPresent()) {
      ticket.get().settled();
    }
  }

  /**
   * The same for the items of a stream: once its answer has begun, no status tells of its failure.
   */
  Admission streamed() {
    return new Admission(plan, verdict, Optional.empty(), end);
  }

  /** The same for a method that goes on behind its answer, which is none of it. */
  Admission handedOn() {
    if (answered()) {
      ticket.orElseThrow().handedOn();
    }
    settled();
    return streamed();
  }

  /** Whether an answer follows whose status tells how the call ended. */
  private boolean answered() {
    return ticket.isPresent() && ticket.get().end() == end;
  }

  /**
   * The method has given this result: settles what the call took, unless the answer does. Never
   * fails.
   */
  CompletionStage<Void> returned(@Nullable Object result) {
    end.returned(result);
    return answered() ? DONE : end.settle();
  }

  /**
   * The method has failed: releases its duplicate guard, if the plan says so, and settles what the
   * call took, unless the answer does. Never fails.
   */
  CompletionStage<Void> failed() {
    return plan.releaseAfterException(verdict, ticket.isPresent())
        .thenCombine(threw(), (guard, units) -> null);
  }

  /** The same, where the answer sees to the duplicate guard. */
  CompletionStage<Void> threw() {
    end.threw();
    return answered() ? DONE : end.settle();
  }

  /** The call is given up before it has begun. */
  void abandoned() {
    end.abandoned(verdict);
  }

  /** Whoever waited for the result does no more. */
  void cancelled() {
    end.cancelled(answered());
  }
}
