// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowLog;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.ConcurrencyLimit;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.plan.PlannedCharge;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Creates a rule from one {@code @RateRule}. */
@Singleton
final class RateRuleReader {

  /** The defaults of the annotations: metadata contains only the members that were written. */
  static final long DEFAULT_COUNT = 10;

  static final long DEFAULT_TIME = 60;
  static final TimeUnit DEFAULT_UNIT = TimeUnit.SECONDS;
  static final long DEFAULT_DUPLICATE_COUNT = 1;
  static final long DEFAULT_DUPLICATE_TIME = 5;

  private static final String COUNTS = "counts";
  private static final String ONLY_LOG =
      "a duplicate guard stores each submission, which only the exact log does: remove it";

  private final AlgorithmReader algorithms;

  RateRuleReader(AlgorithmReader algorithms) {
    this.algorithms = algorithms;
  }

  Rule defaultDuplicateRule() {
    return SlidingWindowLog.of(DEFAULT_DUPLICATE_COUNT, Duration.ofSeconds(DEFAULT_DUPLICATE_TIME));
  }

  /**
   * A rule that was read.
   *
   * @param named whether its name was written, not derived from the numbers
   * @param kind the kind of calls that it counts
   */
  record Read(Rule rule, boolean named, PlannedCharge.CountedCalls kind) {}

  /**
   * Reads the rule of a duplicate guard: without a count it accepts one submission, not ten. Only a
   * log stores each submission separately, so that it can be released.
   */
  Rule readDuplicate(AnnotationMembers annotation) {
    rejectSubject(annotation);
    AlgorithmReader.MEMBERS.stream()
        .filter(member -> !member.equals("algorithm"))
        .forEach(member -> annotation.reject(member, ONLY_LOG));
    annotation.reject(
        COUNTS,
        "a duplicate guard counts accepted submissions: remove it, and use releaseOn for the failures after which they may be repeated");
    if (annotation.constant("algorithm", Algorithm.class).orElse(Algorithm.SLIDING_WINDOW_LOG)
        != Algorithm.SLIDING_WINDOW_LOG) {
      annotation.reject("algorithm", ONLY_LOG);
    }
    return read(annotation, DEFAULT_DUPLICATE_COUNT).rule();
  }

  /** Reads a {@code @PreventDuplicate}. */
  Rule readWithin(AnnotationMembers guard) {
    TimeUnit unit = guard.constant("timeUnit", TimeUnit.class).orElse(DEFAULT_UNIT);
    long count = guard.number("count").orElse(DEFAULT_DUPLICATE_COUNT); // only configuration has it
    if (count < 1 || count > SlidingWindowLog.MAX_COUNT) {
      throw guard.error("count", count, "give it 1 to " + SlidingWindowLog.MAX_COUNT);
    }
    return SlidingWindowLog.of(count, guard.time("within", DEFAULT_DUPLICATE_TIME, unit));
  }

  Read read(AnnotationMembers annotation) {
    return read(annotation, DEFAULT_COUNT);
  }

  /** Reads a rule that counts the subject of the surrounding annotation. */
  Read readWithoutSubject(AnnotationMembers annotation) {
    rejectSubject(annotation);
    return read(annotation);
  }

  private static void rejectSubject(AnnotationMembers annotation) {
    for (String member : List.of("limitType", "header", "subject")) {
      annotation.reject(
          member, "this rule counts the subject of the surrounding @RateLimiter: " + "remove it");
    }
  }

  private Read read(AnnotationMembers annotation, long defaultCount) {
    boolean shorthand = annotation.isOf(ConcurrencyLimit.class);
    String member = shorthand && annotation.setting("count").isEmpty() ? "value" : "count";
    long count = annotation.number(member).orElse(defaultCount);
    if (count < 1) {
      throw annotation.error(member, count, "give it 1 or more");
    }
    TimeUnit unit = annotation.constant("timeUnit", TimeUnit.class).orElse(DEFAULT_UNIT);
    boolean inFlight =
        shorthand
            || annotation.constant("algorithm", Algorithm.class).orElse(null)
                == Algorithm.CONCURRENCY_LIMIT;
    Duration window =
        inFlight ? permitDuration(annotation, unit) : annotation.time("time", DEFAULT_TIME, unit);
    Rule rule =
        shorthand
            ? AlgorithmReader.concurrency(annotation, member, count, window)
            : algorithms.read(annotation, count, window);
    PlannedCharge.CountedCalls kind = kind(annotation, rule);
    Optional<String> name = annotation.text("name");
    try {
      return new Read(name.map(rule::withName).orElse(rule), name.isPresent(), kind);
    } catch (IllegalArgumentException e) {
      throw annotation.error("name", name.orElse(""), String.valueOf(e.getMessage()));
    }
  }

  private static Duration permitDuration(AnnotationMembers annotation, TimeUnit unit) {
    if (!annotation.has("time")) {
      return ConcurrencyLimitRule.DEFAULT_PERMIT_DURATION;
    }
    Duration time = annotation.time("time", 0, unit);
    if (time.compareTo(ConcurrencyLimitRule.MIN_PERMIT_DURATION) < 0
        || time.compareTo(ConcurrencyLimitRule.MAX_PERMIT_DURATION) > 0) {
      throw annotation.error(
          "time",
          annotation.raw("time") + " " + unit,
          "it is the time after which a concurrency permit expires. A permit is renewed each third of it, so it must be longer than a pause of the service; it is also the time for which a permit stays taken if the service dies: give it 1 s to 1 h");
    }
    return time;
  }

  private static PlannedCharge.CountedCalls kind(AnnotationMembers annotation, Rule rule) {
    Counts counts = annotation.constant(COUNTS, Counts.class).orElse(Counts.ALL);
    if (rule.waits() && counts != Counts.ALL) {
      throw annotation.error(
          COUNTS,
          counts,
          "a leaky bucket assigns each call its turn on arrival, and a turn that has passed cannot be refunded: remove it, and let another rule count by outcome");
    }
    boolean inFlight = rule instanceof ConcurrencyLimitRule;
    if (inFlight && counts != Counts.ALL) {
      throw annotation.error(
          COUNTS,
          counts,
          "algorithm = CONCURRENCY_LIMIT counts calls while they run, when their completion is not yet known: remove it, or write another algorithm");
    }
    return switch (counts) {
      case ALL ->
          inFlight
              ? PlannedCharge.CountedCalls.IN_FLIGHT
              : rule.waits() ? PlannedCharge.CountedCalls.WAITING : PlannedCharge.CountedCalls.ALL;
      case FAILURES -> PlannedCharge.CountedCalls.FAILURES;
      case SUCCESSES -> PlannedCharge.CountedCalls.SUCCESSES;
    };
  }
}
