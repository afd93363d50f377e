// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.store;

import static java.time.temporal.ChronoUnit.MICROS;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.Outcome;
import io.limiter.core.Reservation;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The result of a store's decision on one request, from which the {@link Verdict} is built; for
 * authors of stores. Charges and rules are given by their index in {@link
 * LimitRequest#allCharges()} and {@link RuleStack#rules()}.
 */
public interface DecisionReadout {

  /**
   * The {@link #retryAfterMicros} of a call that can never succeed: it costs more than the
   * capacity.
   */
  long NEVER = -1;

  /** The decision on one charge. */
  enum Status {
    /** The charge admits the call: every rule has enough units left, and no ban is in force. */
    ADMITTED,
    /** At least one rule of the charge denies the call. */
    LIMITED,
    /** The charge's ban denies the call, or begins with it. */
    BANNED
  }

  /**
   * The decision on a charge. The verdict follows from it alone, so it must be the decision that
   * the store acted on: a charge of an admitted call takes its units if it is {@link
   * Status#ADMITTED}. Every charge of a call that is only recorded is {@link Status#ADMITTED}. For
   * an {@linkplain Charge#observed() observed} charge, this is the decision that would be made if
   * it were enforced; it does not deny the call.
   */
  Status status(int charge);

  /** Returns whether the charge admits the call. */
  default boolean admits(int charge) {
    return status(charge) == Status.ADMITTED;
  }

  /**
   * Units of the rule that were left before this call; negative if more were recorded than the rule
   * allows.
   */
  long remainingBefore(int charge, int rule);

  /**
   * If the rule has fewer units left than the call costs, the time until the call could pass.
   * Otherwise the time until the same call could pass again, and until more units are left than
   * after this decision.
   *
   * @param taken whether the rule alone would take the units; false if the call only peeks
   */
  long retryAfterMicros(int charge, int rule, boolean taken);

  /**
   * Time until the rule is fully replenished.
   *
   * @param taken whether the call takes its units
   */
  long resetAfterMicros(int charge, int rule, boolean taken);

  /**
   * Remaining time of the subject's ban, including a ban that begins with this call; 0 if it is not
   * banned.
   */
  long banMicros(int charge);

  /**
   * Time for which the rule makes the call wait if it is admitted; 0 unless the rule {@linkplain
   * Rule#waits() makes calls wait}.
   */
  default long delayMicros(int charge, int rule) {
    return 0;
  }

  /** When the decision was made, on the clock of the first charge's key; 0 if unknown. */
  default long decidedAtMicros() {
    return 0;
  }

  /**
   * Builds the verdict.
   *
   * @param reservation the handle on the units, if the call is admitted
   */
  default Verdict verdict(LimitRequest request, Mode mode, Reservation reservation) {
    return verdict(request, mode, reservation, null);
  }

  /**
   * Builds the verdict.
   *
   * @param reservation the handle on the units, if the call is admitted
   * @param whenAsked computes the verdicts of the rules when they are asked for, by {@link #rules}
   *     and {@link #rule}; null to compute them now
   */
  default Verdict verdict(
      LimitRequest request,
      Mode mode,
      Reservation reservation,
      Verdict.@Nullable LazyRules whenAsked) {
    int size = request.size();
    int guard = request.charges().size();
    Outcome outcome = Outcome.ALLOWED;
    long banMicros = 0;
    for (int c = 0; c < size; c++) {
      if (admits(c) || request.charge(c).observed()) {
        continue;
      }
      if (status(c) == Status.BANNED) {
        outcome = Outcome.BANNED;
        banMicros = Math.max(banMicros, banMicros(c));
      } else if (outcome == Outcome.ALLOWED) {
        outcome = c < guard ? Outcome.LIMITED : Outcome.DUPLICATE;
      }
    }
    boolean taken = outcome == Outcome.ALLOWED && mode != Mode.PEEK;
    Optional<Duration> ban =
        banMicros > 0 ? Optional.of(Duration.of(banMicros, MICROS)) : Optional.empty();
    boolean waits = outcome == Outcome.ALLOWED && mode != Mode.RECORD;
    Duration delay = waits ? delay(request) : Duration.ZERO;
    Reservation taking = taken ? reservation : Reservation.NOTHING;
    boolean now = whenAsked == null;
    return Verdict.decided(
        request.policy(),
        outcome,
        whenAsked,
        now ? rules(request, mode, taken) : List.of(),
        now && guard < size ? Optional.of(rule(request, guard, 0, mode, taken)) : Optional.empty(),
        ban,
        delay,
        taking,
        decidedAtMicros());
  }

  private Duration delay(LimitRequest request) {
    long longest = 0;
    for (int c = 0; c < request.charges().size(); c++) {
      Charge charge = request.charge(c);
      if (charge.stack().waiting().isPresent() && !charge.observed()) {
        for (int r = 0; r < charge.stack().rules().size(); r++) {
          longest = Math.max(longest, delayMicros(c, r));
        }
      }
    }
    return longest == 0 ? Duration.ZERO : Duration.of(longest, MICROS);
  }

  /**
   * Builds the verdict of each rule, without that of the duplicate guard.
   *
   * @param taken whether the call takes its units
   */
  default List<RuleVerdict> rules(LimitRequest request, Mode mode, boolean taken) {
    int guard = request.charges().size();
    int count = 0;
    for (int c = 0; c < guard; c++) {
      count += request.charge(c).stack().rules().size();
    }
    RuleVerdict[] rules = new RuleVerdict[count];
    int next = 0;
    for (int c = 0; c < guard; c++) {
      for (int r = 0; r < request.charge(c).stack().rules().size(); r++) {
        rules[next++] = rule(request, c, r, mode, taken);
      }
    }
    return List.of(rules);
  }

  /**
   * Builds the verdict of one rule.
   *
   * @param call whether the call takes its units; an observed charge may take none of them
   */
  default RuleVerdict rule(LimitRequest request, int c, int r, Mode mode, boolean call) {
    Charge charge = request.charge(c);
    boolean taken = call && admits(c);
    int units = taken ? charge.cost() : 0;
    RuleStack stack = charge.stack();
    Rule rule = stack.rules().get(r);
    long remainingBefore = remainingBefore(c, r);
    long retryAfterMicros = retryAfterMicros(c, r, mode != Mode.PEEK);
    boolean violated = mode != Mode.RECORD && remainingBefore < charge.cost();
    boolean concurrencyLimit = rule.holdsPermits();
    Duration effective =
        concurrencyLimit || retryAfterMicros == NEVER
            ? stack.window(r)
            : stack.duration(retryAfterMicros, r);
    long resetAfterMicros = resetAfterMicros(c, r, taken);
    boolean tooCostly = violated && retryAfterMicros == NEVER;
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
