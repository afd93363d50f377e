// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Rule;
import io.limiter.core.SlidingWindowLog;
import io.limiter.micronaut.config.LimiterConfiguration;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
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

  /**
   * A rule as it was read.
   *
   * @param named whether its name was given, not made from the numbers
   */
  record Read(Rule rule, boolean named) {}

  /** A rule of a duplicate guard: without a count it accepts one submission, not ten. */
  Rule readDuplicate(Members annotation) {
    refuseSubject(annotation);
    return read(annotation, DEFAULT_DUPLICATE_COUNT).rule();
  }

  Read read(Members annotation) {
    return read(annotation, DEFAULT_COUNT);
  }

  /** A rule that counts whom the annotation around it counts. */
  Read readWithoutSubject(Members annotation) {
    refuseSubject(annotation);
    return read(annotation);
  }

  private static void refuseSubject(Members annotation) {
    for (String member : List.of("limitType", "header", "subject")) {
      annotation.refuse(member, "this rule counts whom the @RateLimiter around it does: remove it");
    }
  }

  private Read read(Members annotation, long defaultCount) {
    long count = annotation.annotation().longValue("count").orElse(defaultCount);
    long time = annotation.annotation().longValue("time").orElse(DEFAULT_TIME);
    TimeUnit unit = annotation.constant("timeUnit", TimeUnit.class).orElse(DEFAULT_UNIT);
    if (count < 1) {
      throw annotation.error("count", count, "give it 1 or more");
    }
    if (count > configuration.getMaxCount()) {
      throw annotation.error(
          "count",
          count,
          "an exact log remembers every call, so counts are limited to %d: lower it, or raise %s.max-count"
              .formatted(configuration.getMaxCount(), LimiterConfiguration.PREFIX));
    }
    if (time < 1) {
      throw annotation.error("time", time, "give it 1 or more");
    }
    Duration window = window(annotation, time, unit);
    Optional<String> name = annotation.text("name");
    try {
      return new Read(
          name.<Rule>map(given -> new SlidingWindowLog(given, count, window))
              .orElseGet(() -> SlidingWindowLog.of(count, window)),
          name.isPresent());
    } catch (IllegalArgumentException e) {
      throw PlanErrors.of(
          annotation.method(),
          annotation.name(),
          "%d in %d %s".formatted(count, time, unit),
          String.valueOf(e.getMessage()));
    }
  }

  private static Duration window(Members annotation, long time, TimeUnit unit) {
    try {
      Duration window = Duration.of(time, unit.toChronoUnit());
      if (window.compareTo(SlidingWindowLog.MAX_WINDOW) <= 0
          && window.compareTo(SlidingWindowLog.MIN_WINDOW) >= 0) {
        return window;
      }
    } catch (ArithmeticException overflow) {
      // As long as no clock can measure: refused below.
    }
    throw annotation.error("time", time + " " + unit, "give it 1 ms to 366 days");
  }
}
