// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.store;

import io.limiter.core.Charge;
import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.Outcome;
import io.limiter.core.Reservation;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.core.rule.ConcurrencyLimit;
import io.limiter.core.rule.Micros;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.StackShape;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * What a store found for one request, before it is put into words; for authors of stores. Charges
 * and rules are given by their index in {@link LimitRequest#allCharges()} and {@link
 * RuleStack#rules()}; times are microseconds.
 */
public interface DecisionReadout {

  /** A {@link #waitFor} that never ends: the cost is above the rule's count. */
  long NEVER = -1;

  /** What the store decided about one charge. */
  enum Status {
    /** The charge admits the call: no rule of it has too few units left, and no ban is on. */
    ADMITTED,
    /** At least one rule of the charge refuses the call. */
    LIMITED,
    /** The charge's ban refuses the call, or begins with it. */
    BANNED
  }

  /**
   * What the store decided about a charge. The verdict follows from it alone, so it has to be what
   * the store wrote by: a charge of a call that is admitted takes its units if it is {@link
   * Status#ADMITTED}. All charges of a call that is only recorded are. A charge that is {@linkplain
   * Charge#observed() observed} says here what it would do, and refuses nothing.
   */
  Status status(int charge);

  /** Whether the charge admits the call. */
  default boolean admits(int charge) {
    return status(charge) == Status.ADMITTED;
  }

  /**
   * Units of the rule that were left before this call; negative if more were recorded than the rule
   * allows.
   */
  long left(int charge, int rule);

  /**
   * Time until the call could pass, where the rule has fewer units left than the call costs; else
   * until more units are left than now, or, once the call has taken its own, than then.
   *
   * @param taken whether the call takes its units
   */
  long waitFor(int charge, int rule, boolean taken);

  /**
   * Time until the rule is as if never used.
   *
   * @param taken whether the call takes its units
   */
  long resetAfter(int charge, int rule, boolean taken);

  /** Time for which the subject is still banned, or from this call on; 0 if it is not. */
  long bannedFor(int charge);

  /**
   * Time for which the rule makes the call wait, should it be admitted; 0 unless it is one that
   * {@link Rule#waits()}.
   */
  default long delay(int charge, int rule) {
    return 0;
  }

  /** When it was decided, in the time of the first charge's key; 0 if that is not known. */
  default long decidedAt() {
    return 0;
  }

  /** The verdict that follows from what was found. */
  default Verdict verdict(LimitRequest request, Mode mode, Reservation reservation) {
    int size = request.size();
    int guard = request.charges().size();
    Outcome outcome = Outcome.ALLOWED;
    int count = 0;
    long banned = 0;
    for (int c = 0; c < size; c++) {
      if (c < guard) {
        count += request.charge(c).stack().rules().size();
      }
      if (admits(c) || request.charge(c).observed()) {
        continue;
      }
      if (status(c) == Status.BANNED) {
        outcome = Outcome.BANNED;
        banned = Math.max(banned, bannedFor(c));
      } else if (outcome == Outcome.ALLOWED) {
        outcome = c < guard ? Outcome.LIMITED : Outcome.DUPLICATE;
      }
    }
    boolean taken = outcome == Outcome.ALLOWED && mode != Mode.PEEK;
    RuleVerdict[] rules = new RuleVerdict[count];
    int next = 0;
    long delay = 0;
    for (int c = 0; c < guard; c++) {
      Charge charge = request.charge(c);
      boolean took = taken && admits(c);
      for (int r = 0; r < charge.stack().rules().size(); r++) {
        rules[next++] = rule(charge, c, r, mode, took);
        delay = Math.max(delay, charge.observed() ? 0 : delay(c, r));
      }
    }
    return new Verdict(
        request.policy(),
        outcome,
        List.of(rules),
        guard < size
            ? Optional.of(rule(request.charge(guard), guard, 0, mode, taken && admits(guard)))
            : Optional.empty(),
        banned > 0 ? Optional.of(Micros.toDuration(banned)) : Optional.empty(),
        outcome == Outcome.ALLOWED && mode != Mode.RECORD
            ? Micros.toDuration(delay)
            : Duration.ZERO,
        DecidedBy.STORE,
        Optional.empty(),
        Optional.empty(),
        taken ? reservation : Reservation.NOTHING,
        decidedAt());
  }

  private RuleVerdict rule(Charge charge, int c, int r, Mode mode, boolean taken) {
    Rule rule = charge.stack().rules().get(r);
    StackShape shape = charge.stack().shape();
    long left = left(c, r);
    long wait = waitFor(c, r, taken);
    boolean violated = mode != Mode.RECORD && left < charge.cost();
    boolean leased = rule instanceof ConcurrencyLimit;
    Duration effective = leased || wait == NEVER ? shape.window(r) : shape.duration(wait, r);
    long reset = resetAfter(c, r, taken);
    return new RuleVerdict(
        rule,
        violated,
        Math.max(0, taken ? left - charge.cost() : left),
        violated && !leased && wait != NEVER ? Optional.of(effective) : Optional.empty(),
        leased && reset > 0 ? shape.window(r) : shape.duration(reset, r),
        effective,
        violated && wait == NEVER,
        charge.observed());
  }
}
