// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.model.ReferenceModel;
import java.util.List;
import java.util.function.Function;

/**
 * Runs random scenarios on a store and on the {@link ReferenceModel}, and fails at the first answer
 * that differs. The seeds are the same each time, unless {@code -Dlimiter.seed} gives the only one;
 * {@code -Dlimiter.decisions} asks for more than the build does.
 */
public final class Differential {

  private Differential() {}

  /**
   * @param decisions at least so many, unless the property says otherwise
   * @param store runs the steps on a store that remembers nothing and never forgets
   * @return what was done, for the build's log
   */
  public static String run(int decisions, Function<List<Step>, List<Answer>> store) {
    Long only = Long.getLong("limiter.seed");
    if (only != null) {
      ScenarioGenerator.scenario(only).check(store);
      return "seed " + only;
    }
    long start = System.nanoTime();
    long done = 0;
    long seed = 0;
    long wanted = Long.getLong("limiter.decisions", decisions);
    for (; done < wanted; seed++) {
      Scenario scenario = ScenarioGenerator.scenario(seed);
      scenario.check(store);
      done += Scenario.decisions(scenario.steps());
    }
    double seconds = (System.nanoTime() - start) / 1e9;
    return "%d decisions of %d scenarios in %.1f s, %.0f/s"
        .formatted(done, seed, seconds, done / seconds);
  }
}
