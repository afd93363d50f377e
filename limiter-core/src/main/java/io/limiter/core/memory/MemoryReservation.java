// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.StoreException;
import io.limiter.core.store.AtMostOnceReservation;
import io.limiter.core.store.Mode;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.ToIntFunction;

/** The reservation of one decision. Its stages are complete. */
final class MemoryReservation extends AtMostOnceReservation {

  private final ChargeEvaluation[] readings;
  private final boolean[] took;
  private final StripedState stripes;

  /**
   * @param took for each charge whether it took its units
   */
  MemoryReservation(
      LimitRequest request, ChargeEvaluation[] readings, boolean[] took, StripedState stripes) {
    super(request);
    this.readings = readings;
    this.took = took;
    this.stripes = stripes;
  }

  @Override
  protected boolean took(int charge) {
    return took[charge];
  }

  @Override
  protected CompletionStage<Long> giveBack(int from, int to, ToIntFunction<Charge> units) {
    return locked(
        from,
        to,
        (c, clockMicros) -> {
          int some = took[c] ? units.applyAsInt(request().charge(c)) : 0;
          return some == 0 ? 0 : readings[c].giveBack(some, clockMicros);
        });
  }

  @Override
  protected CompletionStage<Long> renew() {
    return locked(
        0,
        request().charges().size(),
        (c, clockMicros) -> isPermit(c) ? readings[c].renew(clockMicros) : 0);
  }

  @Override
  protected CompletionStage<?> record(LimitRequest units) {
    try {
      return CompletableFuture.completedFuture(
          new MemoryDecision(units, stripes).decide(Mode.RECORD));
    } catch (StoreException algorithmFailed) {
      return CompletableFuture.failedFuture(algorithmFailed);
    }
  }

  /** An operation on some units of a charge, at a time. */
  private interface Action {
    int on(int charge, long clockMicros);
  }

  /** Runs an action on some charges under the locks of their stripes, and returns the sum. */
  private CompletionStage<Long> locked(int from, int to, Action action) {
    long mask = 0;
    for (int c = from; c < to; c++) {
      mask |= 1L << readings[c].stripe;
    }
    long units = 0;
    stripes.lock(mask);
    try {
      long clockMicros = stripes.clockMicros();
      for (int c = from; c < to; c++) {
        units += action.on(c, clockMicros);
      }
    } finally {
      stripes.unlock(mask);
    }
    return done(units);
  }
}
