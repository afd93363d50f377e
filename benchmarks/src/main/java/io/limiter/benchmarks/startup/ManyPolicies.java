// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.startup;

import io.limiter.micronaut.plan.LimitPolicies;
import io.micronaut.context.ApplicationContext;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Times how long a context with 1,000 configured policies takes to start and to read them again. It
 * prints the median of each, in milliseconds. Two builds are compared by running them in turn:
 *
 * <pre>
 * java -cp benchmarks/target/benchmarks.jar io.limiter.benchmarks.startup.ManyPolicies
 * </pre>
 */
public final class ManyPolicies {

  private static final int POLICIES = 1_000;
  private static final int STARTS = 7;
  private static final int REFRESHES = 15;

  private ManyPolicies() {}

  /** Takes no arguments. */
  public static void main(String[] none) {
    Map<String, Object> settings = settings();
    double[] starts = new double[STARTS];
    double[] refreshes = new double[REFRESHES];
    for (int i = 0; i < STARTS; i++) {
      long begin = System.nanoTime();
      try (ApplicationContext context = ApplicationContext.run(settings)) {
        LimitPolicies policies = context.getBean(LimitPolicies.class);
        starts[i] = millisSince(begin);
        for (int j = 0; i == STARTS - 1 && j < REFRESHES; j++) {
          long again = System.nanoTime();
          if (!policies.refresh()) {
            throw new IllegalStateException("The settings were rejected");
          }
          refreshes[j] = millisSince(again);
        }
      }
    }
    System.out.printf(
        "policies %s, start %.0f ms, refresh %.1f ms%n",
        POLICIES, median(starts), median(refreshes));
  }

  private static Map<String, Object> settings() {
    Map<String, Object> settings = new LinkedHashMap<>();
    for (int i = 0; i < POLICIES; i++) {
      String policy = "limiter.policies.policy-" + i + '.';
      settings.put(policy + "header", "X-Api-Key");
      settings.put(policy + "status", 429);
      settings.put(policy + "rules[0].count", 10 + i % 7);
      settings.put(policy + "rules[0].time", "60s");
      settings.put(policy + "rules[1].count", 100);
      settings.put(policy + "rules[1].time", "1h");
      settings.put(policy + "rules[1].algorithm", "sliding-window-counter");
    }
    return settings;
  }

  private static double millisSince(long nanos) {
    return (System.nanoTime() - nanos) / 1e6;
  }

  private static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2];
  }
}
