// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import io.limiter.core.store.AtMostOnceReservation;
import io.limiter.core.store.DecisionReadout;
import io.limiter.core.store.LimitStore.Grant;
import io.limiter.core.store.Mode;
import java.util.List;
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
    implements DecisionReadout, Verdict.LazyRules {

  private final ChargeEvaluation[] readings;
  private final StripedState stripes;
  private final long mask;
  private long decidedAtMicros;
  private boolean overflowed;
  private boolean custom;
  private Mode mode = Mode.ACQUIRE;
  private boolean taken;

  MemoryDecision(LimitRequest request, StripedState stripes) {
    super(request);
    this.stripes = stripes;
    readings = new ChargeEvaluation[request.size()];
    long locks = 0;
    for (int c = 0; c < readings.length; c++) {
      Charge charge = request.charge(c);
      int stripe = stripes.indexOf(charge.key());
      readings[c] = new ChargeEvaluation(charge, stripe, stripes.get(stripe).subjects);
      locks |= 1L << stripe;
      custom |= charge.stack().custom();
    }
    for (int p = 0; p < request.past().size(); p++) {
      locks |= 1L << stripes.indexOf(request.past().get(p).charge().key());
    }
    mask = locks;
  }

  /** Takes the units of the only charge in advance. */
  Grant lease(long micros) {
    readings[0].lease(micros);
    Verdict verdict = decide(Mode.ACQUIRE);
    return new Grant(
        verdict,
        verdict.allowed() ? readings[0].leaseMicros() : 0,
        units -> locked(0, 1, (c, clockMicros) -> readings[c].giveBack(units, clockMicros)));
  }

  Verdict decide(Mode by) {
    mode = by;
    boolean admitted = true;
    stripes.lock(mask);
    try {
      long clockMicros = stripes.clockMicros();
      decidedAtMicros = clockMicros;
      for (int p = 0; p < request().past().size(); p++) {
        PastCharge past = request().past().get(p);
        if (past.take()) {
          record(past, clockMicros);
        }
      }
      for (int c = 0; c < readings.length; c++) {
        if (!readings[c].find(clockMicros)) {
          overflow(c, clockMicros);
        }
        admitted &= readings[c].read(clockMicros, mode) || readings[c].charge.observed();
      }
      if (mode != Mode.PEEK) {
        for (ChargeEvaluation reading : readings) {
          if (admitted && reading.admits()) {
            reading.take();
          } else {
            reading.deny();
          }
        }
      }
    } finally {
      stripes.unlock(mask);
    }
    if (overflowed) {
      stripes.warnOfOverflow(); // not under the locks: logging may be slow
    }
    taken = admitted && mode != Mode.PEEK;
    return verdict(request(), mode, this, custom ? null : this);
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

  /** Records past units, unless there is no room for the key. */
  private void record(PastCharge past, long clockMicros) {
    int stripe = stripes.indexOf(past.charge().key());
    ChargeEvaluation reading =
        new ChargeEvaluation(past.charge(), stripe, stripes.get(stripe).subjects);
    long thenMicros = clockMicros - MICROSECONDS.convert(past.age());
    if (reading.find(thenMicros)) { // what has expired since then may not have expired at that time
      reading.record(thenMicros);
    }
  }

  /**
   * A subject without a log of its own shares one with other such subjects. A submission does not,
   * since it would be a duplicate of theirs: it has no state, and the rules alone decide.
   */
  private void overflow(int c, long clockMicros) {
    overflowed = true;
    if (c == request().charges().size()) {
      readings[c].forgo();
    } else {
      StripedState.Stripe stripe = stripes.get(readings[c].stripe);
      readings[c].share(
          stripe.overflows, stripe.overflow(readings[c].charge, c, clockMicros), clockMicros);
    }
  }

  @Override
  public Status status(int charge) {
    if (readings[charge].admits()) {
      return Status.ADMITTED;
    }
    return readings[charge].banMicros() > 0 ? Status.BANNED : Status.LIMITED;
  }

  @Override
  public long decidedAtMicros() {
    return decidedAtMicros;
  }

  @Override
  public long remainingBefore(int charge, int rule) {
    return readings[charge].remainingBefore(rule);
  }

  @Override
  public long retryAfterMicros(int charge, int rule, boolean taken) {
    return readings[charge].retryAfterMicros(rule, taken);
  }

  @Override
  public long resetAfterMicros(int charge, int rule, boolean taken) {
    return readings[charge].resetAfterMicros(rule, taken);
  }

  @Override
  public long delayMicros(int charge, int rule) {
    return readings[charge].delayMicros(rule);
  }

  @Override
  public long banMicros(int charge) {
    return readings[charge].banMicros();
  }

  @Override
  protected boolean took(int charge) {
    return readings[charge].admits();
  }

  @Override
  protected CompletionStage<Long> giveBack(int from, int to, ToIntFunction<Charge> units) {
    return locked(
        from,
        to,
        (c, clockMicros) -> {
          int some = took(c) ? units.applyAsInt(request().charge(c)) : 0;
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
    long own = 0;
    for (int c = from; c < to; c++) {
      own |= 1L << readings[c].stripe;
    }
    long units = 0;
    stripes.lock(own);
    try {
      long clockMicros = stripes.clockMicros();
      for (int c = from; c < to; c++) {
        units += action.on(c, clockMicros);
      }
    } finally {
      stripes.unlock(own);
    }
    return done(units);
  }
}
