// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.store;

import io.limiter.core.Charge;
import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.Reservation;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * The reservation of a request whose charges another store has decided by other rules. It
 * translates between them: a completion's cost function expects the charges of the original
 * request.
 *
 * @param decided that of the charges that were decided
 * @param asked the original request
 */
public record ReplacedReservation(Reservation decided, LimitRequest asked) implements Reservation {

  @Override
  public CompletionStage<Long> refund() {
    return decided.refund();
  }

  @Override
  public CompletionStage<Long> release() {
    return decided.release();
  }

  @Override
  public CompletionStage<Long> settle(Completion completion) {
    return decided.settle(completion.standingFor(this::original));
  }

  /** Finds the original charge; no two charges of a request have one key. */
  private Charge original(Charge replaced) {
    return asked.charges().stream()
        .filter(charge -> charge.key().equals(replaced.key()))
        .findFirst()
        .orElse(replaced);
  }

  @Override
  public CompletionStage<Long> renewPermits() {
    return decided.renewPermits();
  }

  @Override
  public Optional<Duration> permitDuration() {
    return decided.permitDuration();
  }
}
