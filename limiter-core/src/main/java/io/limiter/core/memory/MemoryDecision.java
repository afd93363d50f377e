// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.LimitStore.Grant;
import io.limiter.core.Mode;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import io.limiter.core.memory.StripedState.Stripe;
import io.limiter.core.store.Decision;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.ToIntFunction;

/**
 * Decides one call: all rules of all its keys, all or nothing. Reads everything, decides, then
 * writes. From then on it is the readout from which the verdict is read, and the reservation of an
 * admitted call, whose stages are complete.
 */
final class MemoryDecision extends Decision implements StripedState.Action {

  private final StripedState stripes;
  private final ChargeEvaluation first;

  MemoryDecision(LimitRequest request, Mode mode, StripedState stripes) {
    this(request, mode, stripes, evaluations(request, mode, 0));
  }

  private MemoryDecision(
      LimitRequest request, Mode mode, StripedState stripes, ChargeEvaluation first) {
    super(request, mode);
    this.stripes = stripes;
    this.first = first;
  }

  private static ChargeEvaluation evaluations(LimitRequest request, Mode mode, int from) {
    boolean last = from + 1 == request.size();
    return new ChargeEvaluation(
        request.charge(from), mode, last ? null : evaluations(request, mode, from + 1));
  }

  /** Takes the units of the only charge in advance. */
  static Grant lease(LimitRequest units, long micros, StripedState stripes) {
    ChargeEvaluation only = new ChargeEvaluation.OfLease(units.charge(0), micros);
    MemoryDecision decision = new MemoryDecision(units, Mode.ACQUIRE, stripes, only);
    Verdict verdict = decision.decide();
    return new Grant(
        verdict,
        verdict.allowed() ? only.spendableMicros() : 0,
        some -> decision.locked(0, 1, (c, clockMicros) -> only.giveBack(some, clockMicros)));
  }

  @Override
  protected ChargeEvaluation charge(int index) {
    ChargeEvaluation found = first;
    for (int c = 0; c < index; c++) {
      found = Objects.requireNonNull(found.next);
    }
    return found;
  }

  Verdict decide() {
    if (request().size() == 1 && request().past().isEmpty() && decidedUnlocked()) {
      return verdict();
    }
    long mask = mask(0, request().size());
    for (int p = 0; p < request().past().size(); p++) {
      mask |= stripes.of(request().past().get(p).charge().key()).bit;
    }
    boolean overflowed = stripes.locked(mask, this) > 0;
    if (overflowed) {
      stripes.warnOfOverflow(); // not under the locks: logging may be slow
    }
    return verdict();
  }

  /**
   * Decides the only charge on what is read without the lock, which is taken only to write, and
   * only if nothing was written since. Returns false, without any effect, if the key has no state,
   * or if another call wrote meanwhile: then what was read may not belong together, and may even
   * have thrown.
   */
  private boolean decidedUnlocked() {
    Stripe stripe = stripes.of(first.charge.key());
    long version = stripe.version();
    if (version == 0 || first.charge.stack().custom()) {
      return false; // an application's algorithm is asked about states that exist, once
    }
    long clockMicros;
    boolean writes;
    try {
      clockMicros = stripes.clockMicros();
      if (!first.findKnown(stripe, clockMicros)) {
        return false;
      }
      boolean takes = first.read(clockMicros);
      writes = !peeks() && (takes || first.denialWrites(clockMicros));
    } catch (RuntimeException inconsistent) {
      return false;
    }
    if (!writes) {
      return stripe.isUnchangedSince(version);
    }
    if (!stripe.lockIfUnchangedSince(version)) {
      return false;
    }
    try {
      write(first, true, clockMicros);
    } finally {
      stripe.unlock();
    }
    return true;
  }

  private static void write(ChargeEvaluation evaluation, boolean admitted, long clockMicros) {
    if (admitted && evaluation.admits()) {
      evaluation.take(clockMicros);
    } else {
      evaluation.deny(clockMicros);
    }
  }

  /** The stripes of some charges. */
  private long mask(int from, int to) {
    long mask = 0;
    for (int c = from; c < to; c++) {
      mask |= stripes.of(request().charge(c).key()).bit;
    }
    return mask;
  }

  /** Decides under the locks. Returns above 0 if a key has no room for its state. */
  @Override
  public long at(long clockMicros) {
    for (int p = 0; p < request().past().size(); p++) {
      PastCharge past = request().past().get(p);
      if (past.markSent()) {
        record(past, clockMicros);
      }
    }
    int size = request().size();
    long overflowed = 0;
    boolean admitted = true;
    for (int c = 0; c < size; c++) {
      ChargeEvaluation evaluation = charge(c);
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
      admitted &= evaluation.read(clockMicros) || evaluation.charge.observed();
    }
    for (int c = 0; c < size && !peeks(); c++) {
      write(charge(c), admitted, clockMicros);
    }
    return overflowed;
  }

  /** Records past units, unless there is no room for the key. */
  private void record(PastCharge past, long clockMicros) {
    ChargeEvaluation evaluation = new ChargeEvaluation(past.charge(), Mode.RECORD, null);
    long thenMicros = clockMicros - MICROSECONDS.convert(past.age());
    // What has expired since then may not have expired at that time.
    if (evaluation.find(stripes.of(past.charge().key()), thenMicros)) {
      evaluation.record(thenMicros);
    }
  }

  @Override
  protected CompletionStage<Long> giveBack(int from, int to, ToIntFunction<Charge> units) {
    return locked(
        from,
        to,
        (c, clockMicros) -> {
          int some = took(c) ? units.applyAsInt(request().charge(c)) : 0;
          return some == 0 ? 0 : charge(c).giveBack(some, clockMicros);
        });
  }

  @Override
  protected CompletionStage<Long> renew() {
    return locked(
        0,
        request().charges().size(),
        (c, clockMicros) -> isPermit(c) ? charge(c).renew(clockMicros) : 0);
  }

  @Override
  protected CompletionStage<Long> hold(int charge, Duration time, boolean ended) {
    long micros = MICROSECONDS.convert(time);
    return locked(charge, charge + 1, (c, now) -> charge(c).hold(micros, ended, now));
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
