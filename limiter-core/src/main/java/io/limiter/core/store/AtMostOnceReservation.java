// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.store;

import io.limiter.core.Charge;
import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Reservation;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * The part of a {@link Reservation} that is the same in every store: the units of the rules are
 * given back or settled once, the duplicate guard is released until that succeeds once, and neither
 * during a renewal of the permits. A subclass defines what was taken and how it is given back.
 */
public abstract class AtMostOnceReservation implements Reservation {

  private final LimitRequest request;

  /** Settled or refunded. Guarded by this object, like the following fields. */
  private boolean ended;

  private boolean guardReleased;
  private @Nullable CompletableFuture<Long> renewal;

  protected AtMostOnceReservation(LimitRequest request) {
    this.request = request;
    this.guardReleased = request.duplicate().isEmpty();
  }

  /** Returns whether a charge, by its index in the request, took its units. */
  protected abstract boolean took(int charge);

  /**
   * Gives back units of the charges from one index to another, exclusive, as far as these took any.
   *
   * @param units the number of units of a charge; all or none for a concurrency limit
   */
  protected abstract CompletionStage<Long> giveBack(int from, int to, ToIntFunction<Charge> units);

  /**
   * Keeps the duplicate guard, which is claimed, see {@link Reservation#hold}. By default it is
   * kept for its time anyway.
   *
   * @param charge its index in the request
   */
  protected CompletionStage<Long> hold(int charge, Duration time, boolean ended) {
    return done(1);
  }

  /** Renews the permits of the charges that {@linkplain #isPermit hold} one. */
  protected abstract CompletionStage<Long> renew();

  /** Records units whether or not the rules admit them, in mode {@link Mode#RECORD}. */
  protected abstract CompletionStage<?> record(LimitRequest units);

  protected final LimitRequest request() {
    return request;
  }

  /** The index of the duplicate guard among the charges: after those of the rules. */
  private int guard() {
    return request.charges().size();
  }

  /** Returns whether a charge, by its index in the request, holds a permit while the call runs. */
  protected final boolean isPermit(int charge) {
    return request.charge(charge).stack().permitDuration().isPresent() && took(charge);
  }

  @Override
  public final CompletionStage<Long> refund() {
    int from;
    int to;
    synchronized (this) {
      from = ended ? guard() : 0;
      to = guardReleased ? guard() : guard() + 1;
      ended = true;
      guardReleased = true;
    }
    return from == guard()
        ? giveBack(from, to, Charge::cost)
        : afterRenewal(() -> giveBack(from, to, Charge::cost));
  }

  @Override
  public final CompletionStage<Long> release() {
    synchronized (this) {
      if (guardReleased) {
        return done(0);
      }
      guardReleased = true;
    }
    return done(0) // so that it may be repeated also if this throws
        .thenCompose(none -> giveBack(guard(), guard() + 1, Charge::cost))
        .whenComplete(
            (units, failure) -> {
              if (failure != null) {
                synchronized (this) {
                  guardReleased = false;
                }
              }
            });
  }

  @Override
  public final CompletionStage<Long> hold(Duration time, boolean ended) {
    synchronized (this) {
      if (guardReleased || !took(guard())) {
        return done(0);
      }
    }
    boolean claimed = !request.charge(guard()).stack().claim().isZero();
    return claimed ? hold(guard(), time, ended) : done(1);
  }

  @Override
  public final CompletionStage<Long> settle(Completion completion) {
    Completion costed;
    try {
      costed = completion.withKnownCosts(request.charges());
    } catch (RuntimeException broken) {
      return CompletableFuture.failedFuture(broken);
    }
    synchronized (this) {
      if (ended) {
        return done(0);
      }
      ended = true;
    }
    return afterRenewal(() -> settleNow(costed));
  }

  private CompletionStage<Long> settleNow(Completion completion) {
    CompletionStage<Long> given = giveBack(0, guard(), completion::returned);
    Optional<LimitRequest> more =
        completion.rest(request, charge -> took(request.charges().indexOf(charge)));
    return more.isPresent()
        ? given.thenCombine(record(more.get()), (units, recorded) -> units)
        : given;
  }

  /**
   * Runs an action now, or once a renewal that is under way has succeeded or failed, at the latest
   * at its deadline. No renewal begins after the reservation has ended.
   */
  private CompletionStage<Long> afterRenewal(Supplier<CompletionStage<Long>> action) {
    CompletableFuture<Long> underWay;
    synchronized (this) {
      underWay = renewal;
    }
    return underWay == null || underWay.isDone()
        ? action.get()
        : underWay.handle((units, failure) -> 0).thenCompose(done -> action.get());
  }

  @Override
  public final CompletionStage<Long> renewPermits() {
    CompletableFuture<Long> begun = new CompletableFuture<>();
    synchronized (this) {
      if (renewal != null && !renewal.isDone()) {
        return renewal.copy(); // which a caller may cancel without ending the renewal
      }
      if (ended || permitDuration().isEmpty()) {
        return done(0);
      }
      renewal = begun;
    }
    var unused =
        done(0) // so that the renewal also ends if this throws
            .thenCompose(none -> renew())
            .whenComplete(
                (units, failure) -> {
                  if (failure == null) {
                    begun.complete(units);
                  } else {
                    begun.completeExceptionally(failure);
                  }
                });
    return begun.copy();
  }

  @Override
  public final Optional<Duration> permitDuration() {
    Optional<Duration> shortest = Optional.empty();
    for (int c = 0; c < guard(); c++) {
      if (isPermit(c)) {
        Duration one = request.charge(c).stack().permitDuration().orElseThrow();
        shortest = shortest.filter(least -> least.compareTo(one) <= 0).or(() -> Optional.of(one));
      }
    }
    return shortest;
  }

  /** A stage that is complete with this number of units. */
  protected static CompletionStage<Long> done(long units) {
    return CompletableFuture.completedFuture(units);
  }
}
