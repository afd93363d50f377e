// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import io.limiter.core.Charge;
import java.time.Duration;
import java.util.List;

/**
 * A rule with a {@link CustomAlgorithm}.
 *
 * @param name the rule's name
 * @param count the most units, as the algorithm defines them, 1 to {@value #MAX_COUNT}, which one
 *     call may cost
 * @param window the time over which it counts, 1 ms to 366 days, in whole microseconds
 * @param algorithm how it counts
 * @param parameters numbers for the algorithm, at most {@value #MAX_PARAMETERS}
 * @param memory the time after which a subject without admitted calls is new again, 1 ms to 366
 *     days
 */
public record CustomRule(
    String name,
    long count,
    Duration window,
    CustomAlgorithm algorithm,
    List<Double> parameters,
    Duration memory)
    implements Rule {

  /** The largest count: the algorithm gets all units at once when it takes over a count. */
  public static final long MAX_COUNT = Charge.MAX_COST;

  /** The most parameters of one rule. */
  public static final int MAX_PARAMETERS = 8;

  public CustomRule {
    RuleStack.requireNumbers(name, count, MAX_COUNT, window);
    RuleStack.requireWindow("The rule '" + name + "' remembers a subject for", memory);
    parameters = List.copyOf(parameters);
    if (parameters.size() > MAX_PARAMETERS
        || parameters.stream().anyMatch(number -> !Double.isFinite(number))) {
      throw new IllegalArgumentException(
          "The rule '%s' has the parameters %s: use at most %s finite numbers"
              .formatted(name, parameters, MAX_PARAMETERS));
    }
    if (!algorithm.name().matches("[a-z0-9-]{1,32}")) {
      throw new IllegalArgumentException(
          "The algorithm name '%s' is invalid: use 1 to 32 lower-case letters, digits and hyphens"
              .formatted(algorithm.name()));
    }
    if (algorithm.stateSize() < 1 || algorithm.stateSize() > CustomAlgorithm.MAX_STATE) {
      throw new IllegalArgumentException(
          "The algorithm '%s' remembers %s numbers: use 1 to %s"
              .formatted(algorithm.name(), algorithm.stateSize(), CustomAlgorithm.MAX_STATE));
    }
  }

  /** A rule named after its numbers, which keeps the state of a subject for two windows. */
  public static CustomRule of(
      CustomAlgorithm algorithm, long count, Duration window, Double... parameters) {
    Duration twice = window.multipliedBy(2);
    return new CustomRule(
        Rule.nameOf(count, window),
        count,
        window,
        algorithm,
        List.of(parameters),
        twice.compareTo(MAX_WINDOW) > 0 ? MAX_WINDOW : twice);
  }

  @Override
  public String shape() {
    return "own %s %s %s %s %s"
        .formatted(algorithm.name(), algorithm.stateSize(), window, parameters, memory);
  }

  /** Zero: when its units come back is unknown. */
  @Override
  public Duration longestLease() {
    return Duration.ZERO;
  }

  @Override
  public CustomRule withName(String other) {
    return new CustomRule(other, count, window, algorithm, parameters, memory);
  }

  @Override
  public CustomRule withCount(long other) {
    return new CustomRule(name, other, window, algorithm, parameters, memory);
  }

  /** Assumed, because only the algorithm could compute it. */
  @Override
  public boolean carriesOver() {
    return true;
  }
}
