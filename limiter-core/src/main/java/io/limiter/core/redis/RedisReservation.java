// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.redis.wire.DecideReply;
import io.limiter.core.redis.wire.DecideReply.TakenUnits;
import io.limiter.core.store.AtMostOnceReservation;
import io.limiter.core.store.Mode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.function.ToIntFunction;

/**
 * The reservation of one decision, with the stamps of its units. Units with the same stamp are
 * interchangeable, and only those of this decision are given back, in one command.
 */
final class RedisReservation extends AtMostOnceReservation {

  private final RedisStore store;
  private final DecideReply reply;

  /**
   * The concurrency permits of the call, with their latest stamps; created by the first renewal.
   * Guarded by this object.
   */
  private Map<Integer, TakenUnits> permits = Map.of();

  /** The units of a lease that were given back. Guarded by this object. */
  private int givenBack;

  public RedisReservation(RedisStore store, LimitRequest request, DecideReply reply) {
    super(request);
    this.store = store;
    this.reply = reply;
  }

  @Override
  protected boolean took(int charge) {
    return reply.admits(charge);
  }

  @Override
  protected synchronized CompletionStage<Long> giveBack(
      int from, int to, ToIntFunction<Charge> some) {
    List<TakenUnits> units = new ArrayList<>(to - from);
    for (int c = from; c < to; c++) {
      Charge charge = request().charge(c);
      int wanted = some.applyAsInt(charge);
      TakenUnits renewed = permits.get(c);
      if (wanted > 0 && renewed != null) {
        units.add(renewed);
      } else if (wanted > 0 && reply.admits(c)) {
        units.add(reply.taken(c, wanted));
      }
    }
    return units.isEmpty() ? done(0) : store.units().refund(units, request().policy());
  }

  /** Gives back units of a lease, as often as there are units that were not spent. */
  synchronized CompletionStage<Long> giveBack(int units) {
    TakenUnits some = reply.taken(0, units, givenBack);
    givenBack += units;
    return store.units().refund(List.of(some), request().policy());
  }

  @Override
  protected synchronized CompletionStage<Long> renew() {
    if (permits.isEmpty()) {
      permits = new LinkedHashMap<>();
      for (int c = 0; c < request().charges().size(); c++) {
        if (isPermit(c)) {
          permits.put(c, reply.taken(c, request().charge(c).cost()));
        }
      }
    }
    return store.units().renew(List.copyOf(permits.values()), request().policy());
  }

  @Override
  protected CompletionStage<Long> hold(int charge, Duration time) {
    return store.units().hold(reply.taken(charge, 1), time);
  }

  @Override
  protected CompletionStage<?> record(LimitRequest units) {
    return store.decide(units, Mode.RECORD);
  }
}
