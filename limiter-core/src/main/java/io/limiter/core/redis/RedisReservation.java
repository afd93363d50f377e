// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.Charge;
import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.Reservation;
import io.limiter.core.redis.connection.RedisFailures;
import io.limiter.core.redis.wire.StoredDecision;
import io.limiter.core.redis.wire.TakenUnits;
import io.limiter.core.store.Mode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * The reservation of one decision, with the stamps of its units. Units with the same stamp are
 * interchangeable. This class ensures that only the units of this decision are given back, and only
 * once.
 */
final class RedisReservation implements Reservation {

  private final RedisStore store;
  private final LimitRequest request;
  private final StoredDecision reply;
  private final AtomicBoolean duplicateReturned = new AtomicBoolean();

  /** Settled or refunded. Guarded by this object, like the following fields. */
  private boolean ended;

  /**
   * The concurrency permits of the call, with their latest stamps; created by the first renewal.
   */
  private Map<Integer, TakenUnits> permits = Map.of();

  private @Nullable CompletableFuture<Long> renewal;

  public RedisReservation(RedisStore store, LimitRequest request, StoredDecision reply) {
    this.store = store;
    this.request = request;
    this.reply = reply;
  }

  @Override
  public CompletionStage<Long> refund() {
    List<TakenUnits> guard = guard();
    if (!end()) {
      return give(guard);
    }
    return afterRenewal(
        () -> {
          List<TakenUnits> units = units(Charge::cost);
          units.addAll(guard);
          return give(units);
        });
  }

  @Override
  public CompletionStage<Long> release() {
    return give(guard());
  }

  @Override
  public CompletionStage<Long> settle(Completion completion) {
    Completion costed;
    try {
      costed = completion.withKnownCosts(request.charges());
    } catch (RuntimeException broken) {
      return CompletableFuture.failedFuture(broken);
    }
    return end() ? afterRenewal(() -> settled(costed)) : done(0);
  }

  private CompletionStage<Long> settled(Completion completion) {
    CompletionStage<Long> given = give(units(completion::returned));
    return completion
        .rest(request, this::took)
        .map(rest -> given.thenCombine(store.decide(rest, Mode.RECORD), (units, all) -> units))
        .orElse(given);
  }

  /** Returns whether this is the first time that the rules' units are settled or refunded. */
  private synchronized boolean end() {
    boolean first = !ended;
    ended = true;
    return first;
  }

  /**
   * Runs an action after the renewal that may be under way: once it has given the permits new
   * stamps, or has failed, by its deadline. No renewal begins after the end.
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
  public CompletionStage<Long> renewPermits() {
    CompletableFuture<Long> begun = new CompletableFuture<>();
    List<TakenUnits> held;
    synchronized (this) {
      if (renewal != null && !renewal.isDone()) {
        return renewal.copy(); // which a caller may cancel without ending the renewal
      }
      if (permits.isEmpty() && !ended) {
        permits = permits();
      }
      if (permits.isEmpty() || ended) {
        return done(0);
      }
      held = List.copyOf(permits.values());
      renewal = begun;
    }
    var unused =
        done(0) // so that the renewal also ends if this throws
            .thenCompose(none -> store.units().renew(held, request.policy()))
            .whenComplete(
                (units, failure) -> {
                  if (failure == null) {
                    begun.complete(units);
                  } else {
                    begun.completeExceptionally(RedisFailures.unwrap(failure));
                  }
                });
    return begun.copy();
  }

  @Override
  public Optional<Duration> permitDuration() {
    return request.charges().stream()
        .filter(charge -> charge.stack().permitDuration().isPresent() && took(charge))
        .map(charge -> charge.stack().permitDuration().orElseThrow())
        .min(Comparator.naturalOrder());
  }

  private boolean took(Charge charge) {
    return reply.admits(request.charges().indexOf(charge));
  }

  private Map<Integer, TakenUnits> permits() {
    Map<Integer, TakenUnits> held = new LinkedHashMap<>();
    for (int c = 0; c < request.charges().size(); c++) {
      Charge charge = request.charge(c);
      if (charge.stack().permitDuration().isPresent() && reply.admits(c)) {
        held.put(c, reply.units(charge, c, charge.cost()));
      }
    }
    return held;
  }

  /**
   * The units that the charges took, by their latest stamps.
   *
   * @param some how many of each charge; of concurrency permits all or none
   */
  private synchronized List<TakenUnits> units(ToIntFunction<Charge> some) {
    List<TakenUnits> units = new ArrayList<>();
    for (int c = 0; c < request.charges().size(); c++) {
      Charge charge = request.charge(c);
      int wanted = some.applyAsInt(charge);
      TakenUnits renewed = permits.get(c);
      if (wanted > 0 && renewed != null) {
        units.add(renewed);
      } else if (wanted > 0 && reply.admits(c)) {
        units.add(reply.units(charge, c, wanted));
      }
    }
    return units;
  }

  /** The unit of the duplicate guard, for the first caller only. */
  private List<TakenUnits> guard() {
    List<TakenUnits> unit = new ArrayList<>(1);
    int index = request.charges().size();
    request
        .duplicate()
        .filter(charge -> reply.admits(index))
        .filter(charge -> duplicateReturned.compareAndSet(false, true))
        .ifPresent(charge -> unit.add(reply.units(charge, index, charge.cost())));
    return unit;
  }

  private CompletionStage<Long> give(List<TakenUnits> units) {
    return units.isEmpty() ? done(0) : store.units().refund(units, request.policy());
  }

  private static CompletionStage<Long> done(long units) {
    return CompletableFuture.completedFuture(units);
  }
}
