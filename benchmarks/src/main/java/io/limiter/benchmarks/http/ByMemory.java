// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import io.limiter.benchmarks.Options;
import io.limiter.benchmarks.Turns;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * The share of decisions by memory, which decides where Redis is too late: on a machine with much
 * other load.
 *
 * @param worst the largest share of the calls in any measurement
 */
record ByMemory(double worst) {

  /** Above this share the figures are not those of Redis. */
  private static final double MOST = 0.01;

  static ByMemory in(Turns.Results results) {
    return new ByMemory(
        Stream.of(Route.values())
            .mapToDouble(route -> results.value(route.name(), ServicesByScript.BY_MEMORY).max())
            .max()
            .orElse(0));
  }

  /** For the report. */
  String note() {
    return String.format(
        Locale.ROOT,
        "Redis answered in time but for %.2f %% of the calls of a measurement at most; those memory decided.",
        100 * worst);
  }

  /**
   * @throws IllegalStateException if the share is too large
   */
  void check(Options options) {
    if (worst > MOST && !options.quick()) {
      throw new IllegalStateException(
          String.format(
              Locale.ROOT,
              "Memory decided %.1f %% of the calls of a measurement, because Redis was too late: measure again on a machine that does less beside",
              100 * worst));
    }
  }
}
