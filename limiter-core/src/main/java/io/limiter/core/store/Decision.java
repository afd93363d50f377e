// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.store;

import static java.time.temporal.ChronoUnit.MICROS;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Reservation;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * A store's decision on one request: the verdict, whose rules are computed when they are read, and
 * the reservation of an admitted call. A subclass gives the {@link DecisionReadout} of each charge.
 */
public abstract class Decision extends AtMostOnceReservation implements Verdict.LazyRules {

  // The mode, as booleans: every admitted call keeps its decision until it ends.
  private final boolean peeks;
  private final boolean records;

  protected Decision(LimitRequest request, Mode mode) {
    super(request);
    this.peeks = mode == Mode.PEEK;
    this.records = mode == Mode.RECORD;
  }

  /** The decision on a charge, by its index in {@link LimitRequest#allCharges()}. */
  protected abstract DecisionReadout charge(int index);

  /** Whether the call takes nothing in any case. */
  protected final boolean peeks() {
    return peeks;
  }

  @Override
  protected final boolean took(int charge) {
    return charge(charge).admits();
  }

  /**
   * Builds the verdict.
   *
   * @throws io.limiter.core.StoreException if a custom algorithm fails
   */
  protected final Verdict verdict() {
    int guard = request().charges().size();
    Outcome outcome = Outcome.ALLOWED;
    long banMicros = 0;
    boolean custom = false; // an application's algorithm is asked now, since it may throw
    for (int c = 0; c < request().size(); c++) {
      custom |= request().charge(c).stack().custom();
      if (took(c) || request().charge(c).observed()) {
        continue;
      }
      if (charge(c).status() == DecisionReadout.Status.BANNED) {
        outcome = Outcome.BANNED;
        banMicros = Math.max(banMicros, charge(c).banMicros());
      } else if (outcome == Outcome.ALLOWED) {
        outcome = c < guard ? Outcome.LIMITED : Outcome.DUPLICATE;
      }
    }
    boolean allowed = outcome == Outcome.ALLOWED;
    return Verdict.decided(
        request().policy(),
        outcome,
        custom ? new FixedRules(rules(), duplicate()) : this,
        banMicros > 0 ? Optional.of(Duration.of(banMicros, MICROS)) : Optional.empty(),
        allowed && !records ? delay() : Duration.ZERO,
        allowed && !peeks ? this : Reservation.NOTHING,
        charge(0).nowMicros());
  }

  private record FixedRules(List<RuleVerdict> rules, Optional<RuleVerdict> duplicate)
      implements Verdict.LazyRules {}

  private Duration delay() {
    long longest = 0;
    for (int c = 0; c < request().charges().size(); c++) {
      Charge charge = request().charge(c);
      if (charge.stack().waiting().isPresent() && !charge.observed()) {
        for (int r = 0; r < charge.stack().rules().size(); r++) {
          longest = Math.max(longest, charge(c).delayMicros(r));
        }
      }
    }
    return longest == 0 ? Duration.ZERO : Duration.of(longest, MICROS);
  }

  /** Whether the call is admitted, and takes its units. */
  protected final boolean isTaken() {
    for (int c = 0; c < request().size(); c++) {
      if (!took(c) && !request().charge(c).observed()) {
        return false;
      }
    }
    return !peeks;
  }

  @Override
  public final List<RuleVerdict> rules() {
    boolean taken = isTaken();
    int guard = request().charges().size();
    int count = 0;
    for (int c = 0; c < guard; c++) {
      count += request().charge(c).stack().rules().size();
    }
    RuleVerdict[] rules = new RuleVerdict[count];
    int next = 0;
    for (int c = 0; c < guard; c++) {
      for (int r = 0; r < request().charge(c).stack().rules().size(); r++) {
        rules[next++] = rule(c, r, taken);
      }
    }
    return List.of(rules);
  }

  @Override
  public final Optional<RuleVerdict> duplicate() {
    return request().duplicate().isEmpty()
        ? Optional.empty()
        : Optional.of(rule(request().charges().size(), 0, isTaken()));
  }

  /**
   * @param call whether the call takes its units; an observed charge may take none of them
   */
  private RuleVerdict rule(int c, int r, boolean call) {
    Charge charge = request().charge(c);
    DecisionReadout readout = charge(c);
    boolean taken = call && readout.admits();
    int units = taken ? charge.cost() : 0;
    RuleStack stack = charge.stack();
    Rule rule = stack.rules().get(r);
    long remainingBefore = readout.remainingBefore(r);
    long retryAfterMicros = readout.retryAfterMicros(r, !peeks);
    boolean violated = !records && remainingBefore < charge.cost();
    boolean concurrencyLimit = rule.holdsPermits();
    Duration effective =
        concurrencyLimit || retryAfterMicros == DecisionReadout.NEVER
            ? stack.window(r)
            : stack.duration(retryAfterMicros, r);
    long resetAfterMicros = readout.resetAfterMicros(r, taken);
    boolean tooCostly = violated && retryAfterMicros == DecisionReadout.NEVER;
    return new RuleVerdict(
        rule,
        violated,
        Math.max(0, remainingBefore - units),
        units,
        violated && !tooCostly && !concurrencyLimit ? Optional.of(effective) : Optional.empty(),
        concurrencyLimit && resetAfterMicros > 0
            ? stack.window(r)
            : stack.duration(resetAfterMicros, r),
        effective,
        tooCostly,
        charge.observed(),
        stack.warnAt());
  }
}
