// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import java.util.List;
import java.util.Locale;

/**
 * The results of several rounds: the median, and the range.
 *
 * @param rounds the result of each, in their order
 */
public record Spread(double median, double min, double max, List<Double> rounds) {

  public Spread {
    rounds = List.copyOf(rounds);
  }

  /**
   * @throws IllegalArgumentException if there is none
   */
  public static Spread of(List<Double> values) {
    if (values.isEmpty()) {
      throw new IllegalArgumentException("Nothing was measured: measure at least one round");
    }
    List<Double> sorted = values.stream().sorted().toList();
    int middle = sorted.size() / 2;
    double median =
        sorted.size() % 2 == 1
            ? sorted.get(middle)
            : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
    return new Spread(median, sorted.get(0), sorted.get(sorted.size() - 1), values);
  }

  /** As tables show it: {@code 0.93 (0.90–0.95)}. */
  @Override
  public String toString() {
    String middle = text(median);
    return min == max ? middle : "%s (%s–%s)".formatted(middle, text(min), text(max));
  }

  /** Three significant digits; more only before the point. */
  public static String text(double value) {
    double size = Math.abs(value);
    String format = size >= 100 ? "%,.0f" : size >= 10 ? "%.1f" : size >= 1 ? "%.2f" : "%.3f";
    return String.format(Locale.ROOT, format, value);
  }
}
