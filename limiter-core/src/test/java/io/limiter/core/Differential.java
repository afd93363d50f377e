// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.model.ReferenceModel;
import io.limiter.core.testing.Seeds;
import java.util.List;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * Runs random scenarios on a store and on the {@link ReferenceModel}, and fails at the first answer
 * that differs. {@link Seeds} selects the scenarios.
 */
public final class Differential {

  private Differential() {}

  /**
   * @param decisions at least so many, unless the property sets another number
   * @param store runs the steps on a new store that never expires anything
   * @return a summary, for the build's log
   */
  public static String run(int decisions, Function<List<Step>, List<Answer>> store) {
    return run(decisions, scenario -> true, store);
  }

  /**
   * The same on some scenarios.
   *
   * @param which the others are left out
   */
  public static String run(
      int decisions, Predicate<Scenario> which, Function<List<Step>, List<Answer>> store) {
    long start = System.nanoTime();
    long done =
        Seeds.forEach(
            decisions,
            seed -> {
              Scenario scenario = ScenarioGenerator.scenario(seed);
              if (!which.test(scenario)) {
                return 0;
              }
              scenario.check(store);
              return Scenario.decisions(scenario.steps());
            });
    double seconds = (System.nanoTime() - start) / 1e9;
    return "%d decisions in %.1f s, %.0f/s".formatted(done, seconds, done / seconds);
  }
}
