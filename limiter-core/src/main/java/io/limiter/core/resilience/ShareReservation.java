// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import io.limiter.core.Charge;
import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.Reservation;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * The reservation of a request with shared rules. It translates between charges: a completion's
 * cost function expects the charges of the original request, not the shares.
 */
record ShareReservation(Reservation share, LimitRequest asked) implements Reservation {

  @Override
  public CompletionStage<Long> refund() {
    return share.refund();
  }

  @Override
  public CompletionStage<Long> release() {
    return share.release();
  }

  @Override
  public CompletionStage<Long> settle(Completion completion) {
    return share.settle(completion.standingFor(this::asked));
  }

  /** Finds the original charge; no two charges of a request have one key. */
  private Charge asked(Charge shared) {
    return asked.charges().stream()
        .filter(charge -> charge.key().equals(shared.key()))
        .findFirst()
        .orElse(shared);
  }

  @Override
  public CompletionStage<Long> renewPermits() {
    return share.renewPermits();
  }

  @Override
  public Optional<Duration> permitDuration() {
    return share.permitDuration();
  }
}
