// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.store.DecisionReadout;
import org.jspecify.annotations.Nullable;

/**
 * An example of a {@link CustomAlgorithm}: units fade. At the end of each window all but a part of
 * the used units is forgiven, so that a subject that has used much waits longer than one that has
 * used little. The only parameter is that part's divisor, 2 or more: with 2 a half stays, rounded
 * down.
 *
 * <p>It stores when the current window began, and the units that are used in it. The first window
 * begins with the first call; once everything is forgiven, the next call begins another.
 */
public record FadingCounter() implements CustomAlgorithm {

  @Override
  public String name() {
    return "fading-counter";
  }

  @Override
  public int stateSize() {
    return 2;
  }

  @Override
  public Evaluation read(
      double nowMicros, double cost, CustomRule rule, double @Nullable [] state) {
    double window = (double) MICROSECONDS.convert(rule.window());
    double divisor = rule.parameters().get(0);
    double start = state == null ? nowMicros : state[0];
    double used = state == null ? 0 : state[1];
    while (used > 0 && nowMicros - start >= window) {
      used = Math.floor(used / divisor);
      start += window;
    }
    if (used == 0) {
      start = nowMicros;
    }
    double remainingBefore = rule.count() - used;
    double retryAfterMicros = DecisionReadout.NEVER;
    if (cost <= rule.count()) {
      double wanted = remainingBefore < cost ? cost : remainingBefore - cost + 1;
      double then = remainingBefore < cost ? used : used + cost;
      double time = start;
      do {
        then = Math.floor(then / divisor);
        time += window;
      } while (then > rule.count() - wanted && then > 0);
      retryAfterMicros = time - nowMicros;
    }
    double resetAfterMicros = used + cost == 0 ? 0 : start - nowMicros;
    for (double then = used + cost; then > 0; then = Math.floor(then / divisor)) {
      resetAfterMicros += window;
    }
    return new Evaluation(
        remainingBefore, retryAfterMicros, resetAfterMicros, new double[] {start, used + cost});
  }

  @Override
  public String script() {
    return """
        local start, used = now, 0
        if state then start, used = state[1], state[2] end
        while used > 0 and now - start >= window do
          used, start = math.floor(used / p[1]), start + window
        end
        if used == 0 then start = now end
        return count - used, { start, used + cost }
        """;
  }
}
