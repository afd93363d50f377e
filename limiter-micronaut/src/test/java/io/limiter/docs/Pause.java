// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.core.CustomAlgorithm;
import io.limiter.core.CustomRule;
import io.limiter.core.Readings;
import jakarta.inject.Singleton;
import org.jspecify.annotations.Nullable;

@Singleton
class Pause implements CustomAlgorithm {

  @Override
  public String name() {
    return "pause";
  }

  @Override
  public int stateSize() {
    return 2; // units since the last pause, and when the last of them was
  }

  @Override
  public Reading read(double now, double cost, CustomRule rule, double @Nullable [] state) {
    double window = rule.window().toNanos() / 1_000.0;
    double rest = state == null ? 0 : Math.max(0, state[1] + window - now);
    double used = state != null && rest > 0 ? state[0] : 0;
    double left = rule.count() - used;
    double wait = cost > 0 && left >= cost ? window : rest;
    return new Reading(
        left, cost > rule.count() ? Readings.NEVER : wait, wait, new double[] {used + cost, now});
  }

  @Override
  public String script() {
    return """
        local used = state and now - state[2] < window and state[1] or 0
        return count - used, {used + cost, now}
        """;
  }
}
