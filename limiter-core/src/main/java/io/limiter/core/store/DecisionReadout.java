// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.store;

import io.limiter.core.Charge;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;

/**
 * The result of a store's decision on one charge, from which a {@link Decision} builds the verdict;
 * for authors of stores. Rules are given by their index in {@link RuleStack#rules()}.
 */
public interface DecisionReadout {

  /**
   * The {@link #retryAfterMicros} of a call that can never succeed: it costs more than the
   * capacity.
   */
  long NEVER = -1;

  /** The decision on a charge. */
  enum Status {
    /** The charge admits the call: every rule has enough units left, and no ban is in force. */
    ADMITTED,
    /** At least one rule of the charge denies the call. */
    LIMITED,
    /** The charge's ban denies the call, or begins with it. */
    BANNED
  }

  /**
   * The decision. The verdict follows from it alone, so it must be the decision that the store
   * acted on: a charge of an admitted call takes its units if it is {@link Status#ADMITTED}. Every
   * charge of a call that is only recorded is {@link Status#ADMITTED}. For an {@linkplain
   * Charge#observed() observed} charge, this is the decision that would be made if it were
   * enforced; it does not deny the call.
   */
  Status status();

  /** Returns whether the charge admits the call. */
  default boolean admits() {
    return status() == Status.ADMITTED;
  }

  /**
   * Units of the rule that were left before this call; negative if more were recorded than the rule
   * allows.
   */
  long remainingBefore(int rule);

  /**
   * If the rule has fewer units left than the call costs, the time until the call could pass.
   * Otherwise the time until the same call could pass again, and until more units are left than
   * after this decision.
   *
   * @param taken whether the rule alone would take the units; false if the call only peeks
   */
  long retryAfterMicros(int rule, boolean taken);

  /**
   * Time until the rule is fully replenished.
   *
   * @param taken whether the call takes its units
   */
  long resetAfterMicros(int rule, boolean taken);

  /**
   * Remaining time of the subject's ban, including a ban that begins with this call; 0 if it is not
   * banned.
   */
  long banMicros();

  /**
   * Time for which the rule makes the call wait if it is admitted; 0 unless the rule {@linkplain
   * Rule#waits() makes calls wait}.
   */
  default long delayMicros(int rule) {
    return 0;
  }

  /** When the decision was made, on the clock of the key; 0 if unknown. */
  default long nowMicros() {
    return 0;
  }
}
