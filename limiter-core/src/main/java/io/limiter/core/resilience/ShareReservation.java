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
 * The reservation for a share of what was asked: whoever tells what a call has cost knows the
 * charges that he asked for, not their shares.
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
  public CompletionStage<Long> settle(Completion ending) {
    return share.settle(ending.standingFor(this::asked));
  }

  /** No two charges of a request have one key. */
  private Charge asked(Charge shared) {
    return asked.charges().stream()
        .filter(charge -> charge.key().equals(shared.key()))
        .findFirst()
        .orElse(shared);
  }

  @Override
  public CompletionStage<Long> renew() {
    return share.renew();
  }

  @Override
  public Optional<Duration> lease() {
    return share.lease();
  }
}
