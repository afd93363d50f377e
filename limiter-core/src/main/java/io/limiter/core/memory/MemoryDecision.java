// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.PastCharge;
import io.limiter.core.Reservation;
import io.limiter.core.Verdict;
import io.limiter.core.rule.Micros;
import io.limiter.core.store.DecisionReadout;
import io.limiter.core.store.Mode;

/**
 * Decides one call: all rules of all its keys, all or nothing. Reads everything, decides, then
 * writes.
 */
final class MemoryDecision implements DecisionReadout {

  private final LimitRequest request;
  private final ChargeEvaluation[] readings;
  private final StripedState stripes;
  private final long mask;
  private long decidedAtMicros;
  private final boolean[] admits;
  private boolean overflowed;

  MemoryDecision(LimitRequest request, StripedState stripes) {
    this.request = request;
    this.stripes = stripes;
    readings = new ChargeEvaluation[request.size()];
    admits = new boolean[readings.length];
    long locks = 0;
    for (int c = 0; c < readings.length; c++) {
      Charge charge = request.charge(c);
      int stripe = stripes.indexOf(charge.key());
      readings[c] = new ChargeEvaluation(charge, stripe, stripes.get(stripe).subjects);
      locks |= 1L << stripe;
    }
    for (PastCharge past : request.past()) {
      locks |= 1L << stripes.indexOf(past.charge().key());
    }
    mask = locks;
  }

  Verdict decide(Mode mode) {
    boolean admitted = true;
    stripes.lock(mask);
    try {
      long clockMicros = stripes.clockMicros();
      decidedAtMicros = clockMicros;
      request.past().forEach(past -> record(past, clockMicros));
      for (int c = 0; c < readings.length; c++) {
        if (!readings[c].find(clockMicros)) {
          overflow(c, clockMicros);
        }
        admits[c] = readings[c].read(clockMicros, mode);
        admitted &= admits[c] || request.charge(c).observed();
      }
      if (mode != Mode.PEEK) {
        for (int c = 0; c < readings.length; c++) {
          if (admitted && admits[c]) {
            readings[c].take();
          } else {
            readings[c].deny();
          }
        }
      }
    } finally {
      stripes.unlock(mask);
    }
    if (overflowed) {
      stripes.warnOfOverflow(); // not under the locks: logging may be slow
    }
    boolean taken = admitted && mode != Mode.PEEK;
    return verdict(
        request,
        mode,
        taken ? new MemoryReservation(request, readings, admits, stripes) : Reservation.NOTHING);
  }

  /** Records past units, unless there is no room for the key. */
  private void record(PastCharge past, long clockMicros) {
    int stripe = stripes.indexOf(past.charge().key());
    ChargeEvaluation reading =
        new ChargeEvaluation(past.charge(), stripe, stripes.get(stripe).subjects);
    long thenMicros = clockMicros - Micros.of(past.age());
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
    if (c == request.charges().size()) {
      readings[c].forgo();
    } else {
      StripedState.Stripe stripe = stripes.get(readings[c].stripe);
      readings[c].share(
          stripe.overflows, stripe.overflow(readings[c].charge, c, clockMicros), clockMicros);
    }
  }

  @Override
  public Status status(int charge) {
    if (admits[charge]) {
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
}
