// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import java.time.Duration;

/**
 * Calls in flight: at most {@code count} units at once, wherever the calls run. A call takes its
 * units when it begins, as a permit of a semaphore, and {@code Reservation.settle} gives them back
 * when it ends. They are leased: whoever runs the call renews the lease each third of it, by {@link
 * Reservation#renew()}, and the units of a call whose instance died are free one lease after its
 * last renewal, so never later than a lease after its death.
 *
 * <p>A call that could not renew in time, since its instance stood still or the store was away for
 * longer than a lease, has lost its place, but not its right to run on: its next renewal takes the
 * place again, whoever has come meanwhile. So long there may be more than {@code count}.
 *
 * <p>Nobody knows when a call will end. So a {@code RuleVerdict} of this rule has no {@code
 * retryAfter}.
 *
 * @param name the rule's name; {@link #of(long, Duration)} makes one from the number
 * @param count the most units at once, 1 to {@value #MAX_COUNT}
 * @param lease for how long units are held without being renewed, 1 s to 1 h, in whole
 *     microseconds. It is renewed each third of it: a shorter one would end while its instance
 *     pauses to collect garbage
 */
public record ConcurrencyLimit(String name, long count, Duration lease) implements LoggedRule {

  /** The largest count. Each unit in flight takes 8 bytes, which each ending call moves. */
  public static final long MAX_COUNT = 10_000;

  /** The lease unless told otherwise. */
  public static final Duration DEFAULT_LEASE = Duration.ofSeconds(30);

  /** The shortest lease. */
  public static final Duration MIN_LEASE = Duration.ofSeconds(1);

  /** The longest lease. */
  public static final Duration MAX_LEASE = Duration.ofHours(1);

  public ConcurrencyLimit {
    Rule.requireNumbers(name, count, MAX_COUNT, lease);
    if (lease.compareTo(MIN_LEASE) < 0 || lease.compareTo(MAX_LEASE) > 0) {
      throw new IllegalArgumentException(
          "The rule '%s' has a lease of %s: give it 1 s to 1 h, since it is renewed each third of it and has to survive a pause of its instance"
              .formatted(name, lease));
    }
  }

  /** A rule named after its count, such as {@code 3-in-flight}, with a lease of 30 s. */
  public static ConcurrencyLimit of(long count) {
    return of(count, DEFAULT_LEASE);
  }

  /** A rule named after its count, such as {@code 3-in-flight}. */
  public static ConcurrencyLimit of(long count, Duration lease) {
    return new ConcurrencyLimit(count + "-in-flight", count, lease);
  }

  /** The lease. */
  @Override
  public Duration window() {
    return lease;
  }

  /** So that calls whose lease has lapsed can take their places again beside those that came. */
  @Override
  public long kept() {
    return 2 * count;
  }

  @Override
  public ConcurrencyLimit withName(String other) {
    return new ConcurrencyLimit(other, count, lease);
  }

  @Override
  public ConcurrencyLimit withCount(long other) {
    return new ConcurrencyLimit(name, other, lease);
  }
}
