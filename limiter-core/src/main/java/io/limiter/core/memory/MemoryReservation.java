// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.Charge;
import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.Reservation;
import io.limiter.core.StoreException;
import io.limiter.core.store.Mode;
import java.time.Duration;
import java.util.Comparator;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;

/** Gives back what one decision took: the rules' units once, and the duplicate guard's once. */
final class MemoryReservation implements Reservation {

  private final LimitRequest request;
  private final ChargeEvaluation[] readings;
  private final boolean[] took;
  private final StripedState stripes;
  private final int guard;
  private boolean ended;
  private boolean released;

  /**
   * @param took for each charge whether it took its units
   */
  MemoryReservation(
      LimitRequest request, ChargeEvaluation[] readings, boolean[] took, StripedState stripes) {
    this.request = request;
    this.readings = readings;
    this.took = took;
    this.stripes = stripes;
    this.guard = request.charges().size();
  }

  @Override
  public synchronized CompletionStage<Long> refund() {
    int from = ended ? guard : 0;
    int to = released ? guard : readings.length;
    ended = true;
    released = true;
    return done(giveBack(from, to, c -> request.charge(c).cost()));
  }

  @Override
  public synchronized CompletionStage<Long> release() {
    int to = released ? guard : readings.length;
    released = true;
    return done(giveBack(guard, to, c -> request.charge(c).cost()));
  }

  @Override
  public synchronized CompletionStage<Long> settle(Completion completion) {
    if (ended) {
      return done(0);
    }
    Completion costed;
    try {
      costed = completion.withKnownCosts(request.charges());
    } catch (RuntimeException broken) {
      return CompletableFuture.failedFuture(broken);
    }
    ended = true;
    long units = giveBack(0, guard, c -> costed.returned(request.charge(c)));
    Optional<LimitRequest> rest = costed.rest(request, c -> took[request.charges().indexOf(c)]);
    if (rest.isPresent()) {
      try {
        var unused = new MemoryDecision(rest.get(), stripes).decide(Mode.RECORD);
      } catch (StoreException algorithmFailed) {
        return CompletableFuture.failedFuture(algorithmFailed);
      }
    }
    return done(units);
  }

  @Override
  public synchronized CompletionStage<Long> renewPermits() {
    if (ended) {
      return done(0);
    }
    return done(
        locked(0, guard, (c, clockMicros) -> isPermit(c) ? readings[c].renew(clockMicros) : 0));
  }

  @Override
  public Optional<Duration> permitDuration() {
    return IntStream.range(0, guard)
        .filter(this::isPermit)
        .mapToObj(c -> request.charge(c).stack().permitDuration().orElseThrow())
        .min(Comparator.naturalOrder());
  }

  private boolean isPermit(int c) {
    Charge charge = request.charge(c);
    return took[c] && charge.stack().permitDuration().isPresent();
  }

  private long giveBack(int from, int to, IntUnaryOperator units) {
    return locked(
        from,
        to,
        (c, clockMicros) -> {
          int some = took[c] ? units.applyAsInt(c) : 0;
          return some == 0 ? 0 : readings[c].giveBack(some, clockMicros);
        });
  }

  /** An operation on some units of a charge, at a time. */
  private interface Action {
    int on(int charge, long clockMicros);
  }

  /** Runs an action on some charges under the locks of their stripes, and returns the sum. */
  private long locked(int from, int to, Action action) {
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
    return units;
  }

  private static CompletionStage<Long> done(long units) {
    return CompletableFuture.completedFuture(units);
  }
}
