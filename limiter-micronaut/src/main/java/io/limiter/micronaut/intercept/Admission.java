// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import io.limiter.core.Verdict;
import io.limiter.micronaut.call.AdmittedCall;
import io.limiter.micronaut.call.RequestDecision;
import io.limiter.micronaut.plan.LimitPlan;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A call that may enter its method.
 *
 * @param ticket the request's ticket, if the method is the request's route
 * @param end the end of the call, which the answer sees to if its ticket says so
 */
record Admission(
    LimitPlan plan, Verdict verdict, Optional<RequestDecision> ticket, AdmittedCall end) {

  /** The same for a stream whose end its answer does not see. */
  Admission streamed() {
    return new Admission(plan, verdict, Optional.empty(), end);
  }

  /** The same for a method that goes on behind its answer, which is none of it. */
  Admission handedOn() {
    if (answered()) {
      ticket.orElseThrow().handedOn();
    }
    return streamed();
  }

  /** Whether an answer follows whose status decides how the call ended. */
  boolean answered() {
    return ticket.isPresent() && ticket.get().end() == end;
  }

  /** The method has given this result: settles the call, unless the answer does. Never fails. */
  CompletionStage<Void> returned(@Nullable Object result) {
    CompletionStage<Void> left = end.returned(result);
    return answered() ? left : end.settle();
  }

  /** The method has failed: settles the call, unless the answer does. Never fails. */
  CompletionStage<Void> failed() {
    CompletionStage<Void> left = end.threw();
    return answered() ? left : end.settle();
  }

  /** The call is given up before it has begun. */
  void abandoned() {
    end.abandoned();
  }

  /** The result is not waited for any more. */
  void cancelled() {
    end.cancelled(answered());
  }
}
