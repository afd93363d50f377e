// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Verdict;
import io.limiter.core.redis.wire.ChargeReply;
import io.limiter.core.redis.wire.TakenUnits;
import io.limiter.core.store.Decision;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.function.ToIntFunction;

/**
 * One decision: the replies from which the verdict is read, and the reservation of an admitted call
 * with the stamps of its units. Units with the same stamp are interchangeable, and only those of
 * this decision are given back, in one command.
 */
final class RedisDecision extends Decision {

  private final RedisStore store;
  private final ChargeReply[] charges;

  /**
   * The concurrency permits of the call, with their latest stamps; created by the first renewal.
   * Guarded by this object.
   */
  private Map<Integer, TakenUnits> permits = Map.of();

  /** The units of a lease that were given back. Guarded by this object. */
  private int givenBack;

  /**
   * @param charges the reply to each charge of the request
   */
  RedisDecision(RedisStore store, LimitRequest request, Mode mode, ChargeReply[] charges) {
    super(request, mode);
    this.store = store;
    this.charges = charges;
  }

  /**
   * Builds the verdict, and checks all numbers that may be read from it.
   *
   * @throws io.limiter.core.StoreException if one of them is impossible
   */
  Verdict checkedVerdict() {
    Verdict verdict = verdict();
    boolean taken = isTaken();
    for (ChargeReply charge : charges) {
      charge.check(!peeks(), taken);
    }
    return verdict;
  }

  @Override
  protected ChargeReply charge(int index) {
    return charges[index];
  }

  @Override
  protected synchronized CompletionStage<Long> giveBack(
      int from, int to, ToIntFunction<Charge> some) {
    List<TakenUnits> units = new ArrayList<>(to - from);
    for (int c = from; c < to; c++) {
      int wanted = some.applyAsInt(request().charge(c));
      TakenUnits renewed = permits.get(c);
      if (wanted > 0 && renewed != null) {
        units.add(renewed);
      } else if (wanted > 0 && took(c)) {
        units.add(charges[c].taken(wanted, 0));
      }
    }
    return units.isEmpty() ? done(0) : store.units().refund(units, request().policy());
  }

  /** See {@link ChargeReply#leaseMicros}. */
  long leaseMicros() {
    return charges[0].leaseMicros();
  }

  /** Gives back units of a lease, as often as there are units that were not spent. */
  synchronized CompletionStage<Long> giveBack(int units) {
    TakenUnits some = charges[0].taken(units, givenBack);
    givenBack += units;
    return store.units().refund(List.of(some), request().policy());
  }

  @Override
  protected synchronized CompletionStage<Long> renew() {
    if (permits.isEmpty()) {
      permits = new LinkedHashMap<>();
      for (int c = 0; c < request().charges().size(); c++) {
        if (isPermit(c)) {
          permits.put(c, charges[c].taken(request().charge(c).cost(), 0));
        }
      }
    }
    return store.units().renew(List.copyOf(permits.values()), request().policy());
  }

  @Override
  protected CompletionStage<Long> hold(int charge, Duration time, boolean ended) {
    return store.units().hold(charges[charge].taken(1, 0), time, ended);
  }

  @Override
  protected CompletionStage<?> record(LimitRequest units) {
    return store.decide(units, Mode.RECORD);
  }
}
