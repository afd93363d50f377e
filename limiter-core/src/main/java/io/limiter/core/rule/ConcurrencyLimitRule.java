// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import java.time.Duration;

/**
 * Concurrency limit: at most {@code count} units in flight at once, across all instances. A call
 * takes a concurrency permit when it begins, and {@code Reservation.settle} gives it back when the
 * call ends. A permit expires: the code that runs the call renews it every third of its duration,
 * by {@link io.limiter.core.Reservation#renewPermits()}. If an instance dies, the permits of its
 * calls are free one permit duration after their last renewal.
 *
 * <p>If a call cannot renew its permit in time, because its instance was paused or the store was
 * away, it loses its place but continues to run. Its next renewal takes a place again, even if
 * other calls have taken all of them; until then more than {@code count} units may be in flight.
 *
 * <p>The end of a running call cannot be predicted, so a {@code RuleVerdict} of this rule has no
 * {@code retryAfter}.
 *
 * @param name the rule's name; {@link #of(long, Duration)} derives one from the count
 * @param count the most units at once, 1 to {@value #MAX_COUNT}
 * @param permitDuration how long a permit is held without renewal, 1 s to 1 h, in whole
 *     microseconds. It is renewed every third of this time; a shorter one would expire during a
 *     garbage collection pause
 */
public record ConcurrencyLimitRule(String name, long count, Duration permitDuration)
    implements Rule.LoggedRule {

  /** The largest count. Each unit in flight takes 8 bytes, which the end of each call moves. */
  public static final long MAX_COUNT = 10_000;

  /** The default permit duration. */
  public static final Duration DEFAULT_PERMIT_DURATION = Duration.ofSeconds(30);

  /** The shortest permit duration. */
  public static final Duration MIN_PERMIT_DURATION = Duration.ofSeconds(1);

  /** The longest permit duration. */
  public static final Duration MAX_PERMIT_DURATION = Duration.ofHours(1);

  public ConcurrencyLimitRule {
    RuleStack.requireNumbers(
        name, count, MAX_COUNT, ", since each permit is stored", permitDuration);
    if (permitDuration.compareTo(MIN_PERMIT_DURATION) < 0
        || permitDuration.compareTo(MAX_PERMIT_DURATION) > 0) {
      throw new IllegalArgumentException(
          "The rule '%s' has a permit duration of %s: use 1 s to 1 h, since a concurrency permit is renewed every third of it and has to survive a pause of its instance"
              .formatted(name, permitDuration));
    }
  }

  /** A rule named after its count, such as {@code 3-in-flight}, with a permit duration of 30 s. */
  public static ConcurrencyLimitRule of(long count) {
    return of(count, DEFAULT_PERMIT_DURATION);
  }

  /** A rule named after its count, such as {@code 3-in-flight}. */
  public static ConcurrencyLimitRule of(long count, Duration permitDuration) {
    return new ConcurrencyLimitRule(count + "-in-flight", count, permitDuration);
  }

  /** The permit duration. */
  @Override
  public Duration window() {
    return permitDuration;
  }

  /**
   * Twice the count, so that calls whose permits have expired can take their places again beside
   * newer calls.
   */
  @Override
  public long kept() {
    return 2 * count;
  }

  @Override
  public boolean holdsPermits() {
    return true;
  }

  /** Zero: a permit is held by one call. */
  @Override
  public Duration longestLease() {
    return Duration.ZERO;
  }

  @Override
  public ConcurrencyLimitRule withName(String other) {
    return new ConcurrencyLimitRule(other, count, permitDuration);
  }

  @Override
  public ConcurrencyLimitRule withCount(long other) {
    return new ConcurrencyLimitRule(name, other, permitDuration);
  }
}
