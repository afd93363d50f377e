// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Rule;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** Reads times that annotations contain as a number and a unit. */
final class AnnotatedTimes {

  private AnnotatedTimes() {}

  /**
   * A time within the bounds of every window. A setting has its own unit.
   *
   * @param member the member with the number
   * @param otherwise the number to use if it is not written
   */
  static Duration read(AnnotationMembers annotation, String member, long otherwise, TimeUnit unit) {
    Optional<Duration> set = annotation.time(member);
    long number = set.isPresent() ? 1 : annotation.number(member).orElse(otherwise);
    if (number < 1) {
      throw annotation.error(member, number, "give it 1 or more");
    }
    Duration time = set.orElseGet(() -> duration(number, unit));
    String written = number + " " + unit;
    if (time.compareTo(Rule.MIN_WINDOW) < 0 || time.compareTo(Rule.MAX_WINDOW) > 0) {
      throw annotation.error(member, written, "give it 1 ms to 366 days");
    }
    if (time.toNanosPart() % 1_000 != 0) {
      throw annotation.error(member, written, "give it whole microseconds");
    }
    return time;
  }

  /**
   * The time of a concurrency permit; the default if the number is not written.
   *
   * @param member the member with the number
   */
  static Duration lease(AnnotationMembers annotation, String member, TimeUnit unit) {
    if (!annotation.has(member)) {
      return ConcurrencyLimitRule.DEFAULT_PERMIT_DURATION;
    }
    Duration lease = read(annotation, member, 0, unit);
    if (lease.compareTo(ConcurrencyLimitRule.MIN_PERMIT_DURATION) < 0
        || lease.compareTo(ConcurrencyLimitRule.MAX_PERMIT_DURATION) > 0) {
      throw annotation.error(
          member,
          annotation.raw(member) + " " + unit,
          "it is the time after which a concurrency permit expires. A permit is renewed each third of it, so it must be longer than a pause of the service; it is also the time for which a permit stays taken if the service dies: give it 1 s to 1 h");
    }
    return lease;
  }

  private static Duration duration(long number, TimeUnit unit) {
    try {
      return Duration.of(number, unit.toChronoUnit());
    } catch (ArithmeticException overflow) {
      return Duration.ofSeconds(Long.MAX_VALUE); // longer than a long can hold
    }
  }
}
