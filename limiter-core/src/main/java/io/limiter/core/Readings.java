// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * What a store found for one request, before it is put into words; for authors of stores. Charges
 * and rules are given by their index in {@link LimitRequest#allCharges()} and {@link
 * RuleStack#rules()}; times are microseconds.
 */
public interface Readings {

  /** A {@link #waitFor} that never ends: the cost is above the rule's count. */
  long NEVER = -1;

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

  /** The verdict that follows from what was found. */
  default Verdict verdict(LimitRequest request, Mode mode, Receipt receipt) {
    int size = request.size();
    int guard = request.charges().size();
    Outcome outcome = Outcome.ALLOWED;
    int count = 0;
    long banned = 0;
    for (int c = 0; c < size; c++) {
      if (c < guard) {
        count += request.charge(c).stack().rules().size();
      }
      if (mode != Mode.RECORD) {
        banned = Math.max(banned, bannedFor(c));
      }
      if (outcome == Outcome.ALLOWED && mode != Mode.RECORD && refuses(request.charge(c), c)) {
        outcome = c < guard ? Outcome.LIMITED : Outcome.DUPLICATE;
      }
    }
    if (banned > 0) {
      outcome = Outcome.BANNED;
    }
    boolean taken = outcome == Outcome.ALLOWED && mode != Mode.PEEK;
    RuleVerdict[] rules = new RuleVerdict[count];
    int next = 0;
    for (int c = 0; c < guard; c++) {
      Charge charge = request.charge(c);
      for (int r = 0; r < charge.stack().rules().size(); r++) {
        rules[next++] = rule(charge, c, r, mode, taken);
      }
    }
    return new Verdict(
        request.policy(),
        outcome,
        List.of(rules),
        guard < size
            ? Optional.of(rule(request.charge(guard), guard, 0, mode, taken))
            : Optional.empty(),
        banned > 0 ? Optional.of(duration(banned)) : Optional.empty(),
        Source.STORE,
        Optional.empty(),
        Optional.empty(),
        taken ? receipt : Receipt.NOTHING);
  }

  private boolean refuses(Charge charge, int c) {
    for (int r = 0; r < charge.stack().rules().size(); r++) {
      if (left(c, r) < charge.cost()) {
        return true;
      }
    }
    return false;
  }

  private RuleVerdict rule(Charge charge, int c, int r, Mode mode, boolean taken) {
    Rule rule = charge.stack().rules().get(r);
    long left = left(c, r);
    long wait = waitFor(c, r, taken);
    boolean violated = mode != Mode.RECORD && left < charge.cost();
    Duration effective = wait == NEVER ? rule.window() : duration(wait, rule);
    return new RuleVerdict(
        rule,
        violated,
        Math.max(0, taken ? left - charge.cost() : left),
        violated && wait != NEVER ? Optional.of(effective) : Optional.empty(),
        duration(resetAfter(c, r, taken), rule),
        effective);
  }

  /** A duration in whole microseconds. */
  static long micros(Duration duration) {
    return duration.toSeconds() * 1_000_000 + duration.toNanosPart() / 1_000;
  }

  /** Microseconds as a duration. */
  static Duration duration(long micros) {
    return Duration.ofSeconds(micros / 1_000_000, micros % 1_000_000 * 1_000);
  }

  /** The same, without making another object of the window itself. */
  private static Duration duration(long micros, Rule rule) {
    return micros == micros(rule.window()) ? rule.window() : duration(micros);
  }
}
