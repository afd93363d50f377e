// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowLog;

/**
 * What one call takes from one key: {@code cost} units under each rule of the stack.
 *
 * <p>A charge that is <em>observed</em> never refuses the call. It takes its units if the call is
 * admitted and it would have admitted it itself, so that its rules say what they would do if they
 * were enforced; its ban refuses nobody and counts no violations.
 *
 * @param limit what is limited, as its policy says
 * @param key whose state
 * @param stack the rules that share that state
 * @param cost units, 1 to {@value #MAX_COST}; a cost above the count of a rule can never be
 *     admitted
 * @param observed whether it only tells what it would do
 */
public record Charge(String limit, StateKey key, RuleStack stack, int cost, boolean observed) {

  /** The largest cost of one call. */
  public static final int MAX_COST = (int) SlidingWindowLog.MAX_COUNT;

  public Charge {
    if (cost < 1 || cost > MAX_COST) {
      throw new IllegalArgumentException(
          "A call costs %d units: give it 1 to %d".formatted(cost, MAX_COST));
    }
    key.requireOf(stack);
  }

  /** A charge that is enforced. */
  public Charge(String limit, StateKey key, RuleStack stack, int cost) {
    this(limit, key, stack, cost, false);
  }

  /** What a call of one unit takes from this subject, under the key that such a stack counts by. */
  public static Charge of(String limit, Subject subject, RuleStack stack) {
    return new Charge(limit, StateKey.of(limit, subject).of(stack), stack, 1);
  }

  /** The same at another cost. */
  public Charge withCost(int units) {
    return new Charge(limit, key, stack, units, observed);
  }

  /** The same, but only observed. */
  public Charge observe() {
    return new Charge(limit, key, stack, cost, true);
  }
}
