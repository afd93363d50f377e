// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

/** The goal of a figure, and whether it is reached, by the median. */
public record Goal(boolean atLeast, double bound, boolean reached) {

  public static Goal atLeast(double bound, Spread found) {
    return new Goal(true, bound, found.median() >= bound);
  }

  public static Goal atMost(double bound, Spread found) {
    return new Goal(false, bound, found.median() <= bound);
  }

  /** As tables show it: {@code ≥ 0.85: reached}. */
  @Override
  public String toString() {
    String number = Spread.text(bound).replaceAll("(\\.[0-9]*?)0+$", "$1").replaceAll("\\.$", "");
    return "%s %s: %s".formatted(atLeast ? "≥" : "≤", number, reached ? "reached" : "missed");
  }
}
