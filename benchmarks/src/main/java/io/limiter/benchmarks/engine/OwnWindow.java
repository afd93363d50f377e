// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.engine;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.store.DecisionReadout;
import org.jspecify.annotations.Nullable;

/** A minimal custom algorithm: a window that begins with its first call. */
record OwnWindow() implements CustomAlgorithm {

  @Override
  public String name() {
    return "own-window";
  }

  @Override
  public int stateSize() {
    return 2;
  }

  @Override
  public Evaluation read(double now, double cost, CustomRule rule, double @Nullable [] state) {
    double window = (double) MICROSECONDS.convert(rule.window());
    boolean open = state != null && now - state[0] < window;
    double start = open && state != null ? state[0] : now;
    double used = open && state != null ? state[1] : 0;
    double wait = cost > rule.count() ? DecisionReadout.NEVER : start + window - now;
    return new Evaluation(
        rule.count() - used, wait, start + window - now, new double[] {start, used + cost});
  }

  @Override
  public String script() {
    return """
        local start, used = now, 0
        if state and now - state[1] < window then start, used = state[1], state[2] end
        return count - used, { start, used + cost }
        """;
  }
}
