// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.model;

import io.limiter.core.rule.Rule;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.function.LongPredicate;

/** Conversion to microseconds, and search for a time by trial. */
final class Plain {

  private Plain() {}

  static long micros(Duration duration) {
    return duration.toNanos() / 1_000;
  }

  static long window(Rule rule) {
    return micros(rule.window());
  }

  static Duration duration(long micros) {
    return Duration.of(micros, ChronoUnit.MICROS);
  }

  /** The first number of a range from which on a condition is true; it stays true from then on. */
  static long first(long from, long to, LongPredicate isTrue) {
    long low = from;
    long high = to;
    while (low < high) {
      long middle = low + (high - low) / 2;
      if (isTrue.test(middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    if (!isTrue.test(low)) {
      throw new AssertionError("The model found nothing from %d to %d".formatted(from, to));
    }
    return low;
  }
}
