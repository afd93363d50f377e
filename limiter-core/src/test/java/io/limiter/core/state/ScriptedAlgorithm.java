// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import org.jspecify.annotations.Nullable;

/** An algorithm that returns its parameter, and times that identify its invocations. */
public record ScriptedAlgorithm() implements CustomAlgorithm {

  @Override
  public String name() {
    return "scripted";
  }

  @Override
  public int stateSize() {
    return 1;
  }

  @Override
  public Evaluation read(double now, double cost, CustomRule rule, double @Nullable [] state) {
    double known = state == null ? 0 : state[0];
    double offset = 100 * known + cost;
    return new Evaluation(
        rule.parameters().get(0), 10_000 + offset, 20_000 + offset, new double[] {known + cost});
  }

  @Override
  public String script() {
    return "return p[1], { (state and state[1] or 0) + cost }";
  }
}
