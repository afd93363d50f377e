// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import java.time.Duration;

/** Checks the numbers of rules. The messages give the number and the remedy. */
final class RuleNumbers {

  private RuleNumbers() {}

  /** Checks the numbers that all rules have. */
  static void requireNumbers(String name, long count, long max, Duration window) {
    Rule.requireName("rule", name);
    if (count < 1 || count > max) {
      throw new IllegalArgumentException(
          "The rule '%s' has count %d: give it 1 to %d".formatted(name, count, max));
    }
    requireWindow("The rule '" + name + "' has a window of", window);
  }

  /** Checks a time over which something is counted. */
  static void requireWindow(String what, Duration window) {
    if (window.compareTo(Rule.MIN_WINDOW) < 0 || window.compareTo(Rule.MAX_WINDOW) > 0) {
      throw new IllegalArgumentException("%s %s: give it 1 ms to 366 days".formatted(what, window));
    }
    if (window.toNanosPart() % 1_000 != 0) {
      throw new IllegalArgumentException(
          "%s %s: give it whole microseconds".formatted(what, window));
    }
  }
}
