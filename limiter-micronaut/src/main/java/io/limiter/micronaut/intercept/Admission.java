// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import io.limiter.core.Verdict;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.Ticket;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * A call that may enter its method.
 *
 * @param ticket the request's ticket, if the method is the request's route: then the answer sees to
 *     failures that are not seen to here
 */
record Admission(LimitPlan plan, Verdict verdict, Optional<Ticket> ticket) {

  /** Takes it from the answer to see to failures. */
  void settled() {
    ticket.ifPresent(Ticket::settled);
  }

  /**
   * The same for the items of a stream: once its answer has begun, no status tells of its failure.
   */
  Admission streamed() {
    return new Admission(plan, verdict, Optional.empty());
  }

  /** Releases the duplicate guard of a failed call, if the plan says so. Never fails. */
  CompletionStage<Void> release() {
    return plan.releaseAfterException(verdict, ticket.isPresent());
  }
}
