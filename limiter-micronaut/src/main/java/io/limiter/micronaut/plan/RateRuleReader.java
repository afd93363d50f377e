// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Rule;
import io.limiter.core.SlidingWindowLog;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.config.LimiterConfiguration;
import io.micronaut.core.annotation.AnnotationValue;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** Makes a rule of one {@code @RateRule}. */
@Singleton
final class RateRuleReader {

  /** The annotations' own defaults: metadata holds only what was written. */
  static final long DEFAULT_COUNT = 10;

  static final long DEFAULT_TIME = 60;
  static final TimeUnit DEFAULT_UNIT = TimeUnit.SECONDS;
  static final long DEFAULT_DUPLICATE_COUNT = 1;
  static final long DEFAULT_DUPLICATE_TIME = 5;

  private final LimiterConfiguration configuration;

  RateRuleReader(LimiterConfiguration configuration) {
    this.configuration = configuration;
  }

  Rule defaultDuplicateRule() {
    return SlidingWindowLog.of(DEFAULT_DUPLICATE_COUNT, Duration.ofSeconds(DEFAULT_DUPLICATE_TIME));
  }

  /** A rule of a duplicate guard: without a count it accepts one submission, not ten. */
  Rule readDuplicate(String method, String where, AnnotationValue<RateRule> annotation) {
    return read(method, where, annotation, DEFAULT_DUPLICATE_COUNT);
  }

  /**
   * @param where the annotation's member that holds the rule, for messages
   */
  Rule read(String method, String where, AnnotationValue<RateRule> annotation) {
    return read(method, where, annotation, DEFAULT_COUNT);
  }

  private Rule read(
      String method, String where, AnnotationValue<RateRule> annotation, long defaultCount) {
    long count = annotation.longValue("count").orElse(defaultCount);
    long time = annotation.longValue("time").orElse(DEFAULT_TIME);
    TimeUnit unit = annotation.enumValue("timeUnit", TimeUnit.class).orElse(DEFAULT_UNIT);
    if (count < 1) {
      throw PlanErrors.of(method, where + ".count", Long.toString(count), "give it 1 or more");
    }
    if (count > configuration.getMaxCount()) {
      throw PlanErrors.of(
          method,
          where + ".count",
          Long.toString(count),
          "an exact log remembers every call, so counts are limited to %d: lower it, or raise %s.max-count"
              .formatted(configuration.getMaxCount(), LimiterConfiguration.PREFIX));
    }
    if (time < 1) {
      throw PlanErrors.of(method, where + ".time", Long.toString(time), "give it 1 or more");
    }
    Duration window = window(method, where, time, unit);
    try {
      return annotation
          .stringValue("name")
          .filter(name -> !name.isEmpty())
          .<Rule>map(name -> new SlidingWindowLog(name, count, window))
          .orElseGet(() -> SlidingWindowLog.of(count, window));
    } catch (IllegalArgumentException e) {
      throw PlanErrors.of(
          method,
          where,
          "%d in %d %s".formatted(count, time, unit),
          String.valueOf(e.getMessage()));
    }
  }

  private static Duration window(String method, String where, long time, TimeUnit unit) {
    String value = time + " " + unit;
    try {
      Duration window = Duration.of(time, unit.toChronoUnit());
      if (window.compareTo(SlidingWindowLog.MAX_WINDOW) <= 0
          && window.compareTo(SlidingWindowLog.MIN_WINDOW) >= 0) {
        return window;
      }
    } catch (ArithmeticException overflow) {
      // As long as no clock can measure: refused below.
    }
    throw PlanErrors.of(method, where + ".time", value, "give it 1 ms to 366 days");
  }
}
