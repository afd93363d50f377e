// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.rule.RuleStack;

/**
 * The units that one call takes under one state key: {@code cost} units under each rule of the
 * stack.
 *
 * <p>An <em>observed</em> charge never denies the call. It takes its units only if the call is
 * admitted and its own rules admit it too, so its rule verdicts show what they would be if the
 * rules were enforced. Its ban denies no call and counts no violations.
 *
 * @param limit the limit key of the policy
 * @param key the state key of the subject
 * @param stack the rules that share that state
 * @param cost units, 1 to {@value #MAX_COST}; a call that costs more than the count of a rule can
 *     never be admitted
 * @param observed whether the rules are evaluated but not enforced
 */
public record Charge(String limit, StateKey key, RuleStack stack, int cost, boolean observed) {

  /** The largest cost of one call. */
  public static final int MAX_COST = 1_000_000_000;

  public Charge {
    if (cost < 1 || cost > MAX_COST) {
      throw new IllegalArgumentException(
          "A call costs %s units: use 1 to %s".formatted(cost, MAX_COST));
    }
    key.requireOf(stack);
  }

  /** Creates a charge that is enforced. */
  public Charge(String limit, StateKey key, RuleStack stack, int cost) {
    this(limit, key, stack, cost, false);
  }

  /** Returns a charge of one unit for this subject, under the state key of this stack. */
  public static Charge of(String limit, Subject subject, RuleStack stack) {
    return new Charge(limit, StateKey.of(limit, subject).of(stack), stack, 1);
  }

  /** Returns this charge with another cost. */
  public Charge withCost(int units) {
    return new Charge(limit, key, stack, units, observed);
  }

  /** Returns this charge, observed instead of enforced. */
  public Charge observe() {
    return new Charge(limit, key, stack, cost, true);
  }
}
