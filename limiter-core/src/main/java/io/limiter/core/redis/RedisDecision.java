// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.core.redis.wire.ChargeReply;
import io.limiter.core.redis.wire.TakenUnits;
import io.limiter.core.store.AtMostOnceReservation;
import io.limiter.core.store.DecisionReadout;
import io.limiter.core.store.Mode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.ToIntFunction;

/**
 * One decision: the replies from which the verdict is read, and the reservation of an admitted call
 * with the stamps of its units. Units with the same stamp are interchangeable, and only those of
 * this decision are given back, in one command.
 */
final class RedisDecision extends AtMostOnceReservation
    implements DecisionReadout, Verdict.LazyRules {

  private final RedisStore store;
  private final Mode mode;
  private final ChargeReply[] charges;
  private boolean taken;

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
    super(request);
    this.store = store;
    this.mode = mode;
    this.charges = charges;
  }

  /**
   * Builds the verdict, whose rules are computed when they are asked for. Their numbers are checked
   * now.
   *
   * @throws io.limiter.core.StoreException if one of them is impossible
   */
  Verdict verdict() {
    boolean custom = false; // an application's algorithm is asked now, since it may throw
    for (int c = 0; c < charges.length; c++) {
      custom |= request().charge(c).stack().custom();
    }
    Verdict verdict = verdict(request(), mode, this, custom ? null : this);
    taken = verdict.allowed() && mode != Mode.PEEK;
    for (int c = 0; c < charges.length && !custom; c++) {
      charges[c].check(mode != Mode.PEEK, taken);
    }
    return verdict;
  }

  @Override
  public List<RuleVerdict> rules() {
    return rules(request(), mode, taken);
  }

  @Override
  public Optional<RuleVerdict> duplicate() {
    return request().duplicate().isEmpty()
        ? Optional.empty()
        : Optional.of(rule(request(), request().charges().size(), 0, mode, taken));
  }

  @Override
  public Status status(int charge) {
    return charges[charge].status();
  }

  @Override
  public long remainingBefore(int charge, int rule) {
    return charges[charge].remainingBefore(rule);
  }

  @Override
  public long retryAfterMicros(int charge, int rule, boolean taken) {
    return charges[charge].retryAfterMicros(rule, taken);
  }

  @Override
  public long resetAfterMicros(int charge, int rule, boolean taken) {
    return charges[charge].resetAfterMicros(rule, taken);
  }

  @Override
  public long delayMicros(int charge, int rule) {
    return charges[charge].delayMicros(rule);
  }

  @Override
  public long banMicros(int charge) {
    return charges[charge].banMicros();
  }

  @Override
  public long decidedAtMicros() {
    return charges[0].nowMicros();
  }

  @Override
  protected boolean took(int charge) {
    return charges[charge].admits();
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
  protected CompletionStage<Long> hold(int charge, Duration time) {
    return store.units().hold(charges[charge].taken(1, 0), time);
  }

  @Override
  protected CompletionStage<?> record(LimitRequest units) {
    return store.decide(units, Mode.RECORD);
  }
}
