// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

/**
 * What one call takes from one key: {@code cost} units under each rule of the stack.
 *
 * @param limit what is limited, as its policy says
 * @param key whose state
 * @param stack the rules that share that state
 * @param cost units, 1 to {@value #MAX_COST}; a cost above the count of a rule can never be
 *     admitted
 */
public record Charge(String limit, Key key, RuleStack stack, int cost) {

  /** The largest cost of one call. */
  public static final int MAX_COST = (int) SlidingWindowLog.MAX_COUNT;

  public Charge {
    if (cost < 1 || cost > MAX_COST) {
      throw new IllegalArgumentException(
          "A call costs %d units: give it 1 to %d".formatted(cost, MAX_COST));
    }
  }
}
