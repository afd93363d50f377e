// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import io.limiter.core.memory.StripedState.Stripe;
import io.limiter.core.store.AtMostOnceReservation;
import io.limiter.core.store.DecisionReadout;
import io.limiter.core.store.LimitStore.Grant;
import io.limiter.core.store.Mode;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.ToIntFunction;

/**
 * Decides one call: all rules of all its keys, all or nothing. Reads everything, decides, then
 * writes. From then on it is the readout from which the verdict is read, and the reservation of an
 * admitted call, whose stages are complete.
 */
final class MemoryDecision extends AtMostOnceReservation
    implements DecisionReadout, Verdict.LazyRules, StripedState.Action {

  private final StripedState stripes;
  private final ChargeEvaluation first;

  /** The mode, as booleans: every admitted call keeps its decision until it ends. */
  private final boolean peeks;

  private final boolean records;

  MemoryDecision(LimitRequest request, Mode mode, StripedState stripes) {
    this(request, mode, stripes, evaluations(request, 0));
  }

  private MemoryDecision(
      LimitRequest request, Mode mode, StripedState stripes, ChargeEvaluation first) {
    super(request);
    this.stripes = stripes;
    this.first = first;
    this.peeks = mode == Mode.PEEK;
    this.records = mode == Mode.RECORD;
  }

  private Mode mode() {
    if (peeks) {
      return Mode.PEEK;
    }
    return records ? Mode.RECORD : Mode.ACQUIRE;
  }

  private static ChargeEvaluation evaluations(LimitRequest request, int from) {
    boolean last = from + 1 == request.size();
    return new ChargeEvaluation(request.charge(from), last ? null : evaluations(request, from + 1));
  }

  /** Takes the units of the only charge in advance. */
  static Grant lease(LimitRequest units, long micros, StripedState stripes) {
    ChargeEvaluation only = new ChargeEvaluation.OfLease(units.charge(0), micros);
    MemoryDecision decision = new MemoryDecision(units, Mode.ACQUIRE, stripes, only);
    Verdict verdict = decision.decide();
    return new Grant(
        verdict,
        verdict.allowed() ? only.spendableMicros() : 0,
        some ->
            decision.locked(
                0, 1, (c, clockMicros) -> only.giveBack(some, Mode.ACQUIRE, clockMicros)));
  }

  private ChargeEvaluation evaluation(int charge) {
    ChargeEvaluation found = first;
    for (int c = 0; c < charge; c++) {
      found = Objects.requireNonNull(found.next);
    }
    return found;
  }

  Verdict decide() {
    long mask = mask(0, request().size());
    for (int p = 0; p < request().past().size(); p++) {
      mask |= stripes.of(request().past().get(p).charge().key()).bit;
    }
    boolean overflowed = stripes.locked(mask, this) > 0;
    if (overflowed) {
      stripes.warnOfOverflow(); // not under the locks: logging may be slow
    }
    return verdict(request(), mode(), this, hasCustomRule() ? null : this);
  }

  /** The stripes of some charges. */
  private long mask(int from, int to) {
    long mask = 0;
    for (int c = from; c < to; c++) {
      mask |= stripes.of(request().charge(c).key()).bit;
    }
    return mask;
  }

  private boolean hasCustomRule() {
    for (int c = 0; c < request().size(); c++) {
      if (request().charge(c).stack().custom()) {
        return true;
      }
    }
    return false;
  }

  /** Decides under the locks. Returns above 0 if a key has no room for its state. */
  @Override
  public long at(long clockMicros) {
    for (int p = 0; p < request().past().size(); p++) {
      PastCharge past = request().past().get(p);
      if (past.take()) {
        record(past, clockMicros);
      }
    }
    int size = request().size();
    long overflowed = 0;
    boolean admitted = true;
    for (int c = 0; c < size; c++) {
      ChargeEvaluation evaluation = evaluation(c);
      Stripe stripe = stripes.of(evaluation.charge.key());
      if (!evaluation.find(stripe, clockMicros)) {
        overflowed++;
        if (c == request().charges().size()) {
          // A submission that shared its log would be a duplicate of others: the rules decide.
          evaluation.forgo();
        } else {
          evaluation.share(stripe.overflow(evaluation.charge, c, clockMicros));
        }
      }
      admitted &= evaluation.read(clockMicros, mode()) || evaluation.charge.observed();
    }
    for (int c = 0; c < size && !peeks; c++) {
      ChargeEvaluation evaluation = evaluation(c);
      if (admitted && evaluation.admits()) {
        evaluation.take(clockMicros, mode());
      } else {
        evaluation.deny(clockMicros);
      }
    }
    return overflowed;
  }

  /** Records past units, unless there is no room for the key. */
  private void record(PastCharge past, long clockMicros) {
    ChargeEvaluation evaluation = new ChargeEvaluation(past.charge(), null);
    long thenMicros = clockMicros - MICROSECONDS.convert(past.age());
    // What has expired since then may not have expired at that time.
    if (evaluation.find(stripes.of(past.charge().key()), thenMicros)) {
      evaluation.record(thenMicros);
    }
  }

  /** Whether the call took its units. */
  private boolean taken() {
    for (int c = 0; c < request().size(); c++) {
      if (!took(c) && !request().charge(c).observed()) {
        return false;
      }
    }
    return !peeks;
  }

  @Override
  public List<RuleVerdict> rules() {
    return rules(request(), mode(), taken());
  }

  @Override
  public Optional<RuleVerdict> duplicate() {
    return request().duplicate().isEmpty()
        ? Optional.empty()
        : Optional.of(rule(request(), request().charges().size(), 0, mode(), taken()));
  }

  @Override
  public Status status(int charge) {
    ChargeEvaluation evaluation = evaluation(charge);
    if (evaluation.admits()) {
      return Status.ADMITTED;
    }
    return evaluation.banMicros() > 0 ? Status.BANNED : Status.LIMITED;
  }

  @Override
  public long decidedAtMicros() {
    return first.nowMicros();
  }

  @Override
  public long remainingBefore(int charge, int rule) {
    return evaluation(charge).remainingBefore(rule, mode());
  }

  @Override
  public long retryAfterMicros(int charge, int rule, boolean taken) {
    return evaluation(charge).retryAfterMicros(rule, mode(), taken);
  }

  @Override
  public long resetAfterMicros(int charge, int rule, boolean taken) {
    return evaluation(charge).resetAfterMicros(rule, mode(), taken);
  }

  @Override
  public long delayMicros(int charge, int rule) {
    return evaluation(charge).delayMicros(rule, mode());
  }

  @Override
  public long banMicros(int charge) {
    return evaluation(charge).banMicros();
  }

  @Override
  protected boolean took(int charge) {
    return evaluation(charge).admits();
  }

  @Override
  protected CompletionStage<Long> giveBack(int from, int to, ToIntFunction<Charge> units) {
    return locked(
        from,
        to,
        (c, clockMicros) -> {
          int some = took(c) ? units.applyAsInt(request().charge(c)) : 0;
          return some == 0 ? 0 : evaluation(c).giveBack(some, mode(), clockMicros);
        });
  }

  @Override
  protected CompletionStage<Long> renew() {
    return locked(
        0,
        request().charges().size(),
        (c, clockMicros) -> isPermit(c) ? evaluation(c).renew(clockMicros) : 0);
  }

  @Override
  protected CompletionStage<?> record(LimitRequest units) {
    try {
      return CompletableFuture.completedFuture(
          new MemoryDecision(units, Mode.RECORD, stripes).decide());
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
    if (from == to) {
      return done(0);
    }
    return done(
        stripes.locked(
            mask(from, to),
            clockMicros -> {
              long units = 0;
              for (int c = from; c < to; c++) {
                units += action.on(c, clockMicros);
              }
              return units;
            }));
  }
}
