// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import static java.time.temporal.ChronoUnit.MICROS;
import static java.util.concurrent.TimeUnit.MICROSECONDS;

import java.math.BigInteger;
import java.time.Duration;

/**
 * Token bucket: a call takes a token for each unit, and tokens come back at a steady rate, up to a
 * capacity. In any interval of length t at most {@code count + refill × t / interval} units are
 * admitted. Two numbers for each subject. GCRA with a burst of {@code count} and an emission
 * interval of {@code interval / refill} makes the same decisions: it keeps a time where this rule
 * keeps a level.
 *
 * <p>Levels are whole numbers of fractions of a token, chosen so that each microsecond adds a whole
 * number of them: nothing is rounded, and nothing drifts.
 *
 * @param name the rule's name; the factories derive one from the numbers
 * @param count the capacity: the most tokens at any time, 1 to {@value Rule#MAX_COUNT}
 * @param refill tokens that come back in an interval, 1 to {@value Rule#MAX_COUNT}
 * @param interval 1 ms to 366 days, in whole microseconds
 * @param greedy whether tokens come one by one, evenly over the interval, instead of all at its
 *     end. Intervals begin with the first call that finds the bucket full
 * @param initial tokens of a subject at its first call, 0 to {@code count}. From then on its bucket
 *     fills, even if that call is denied. A subject without calls for the {@link #memory()} is new
 *     again
 */
public record TokenBucketRule(
    String name, long count, long refill, Duration interval, boolean greedy, long initial)
    implements Rule {

  /** Doubles are exact below this number, and Redis scripts have no other numbers. */
  private static final BigInteger EXACT = BigInteger.ONE.shiftLeft(53);

  private static final Duration LEAST_MEMORY = Duration.ofHours(1);

  public TokenBucketRule {
    RuleStack.requireNumbers(name, count, MAX_COUNT, interval);
    if (refill < 1 || refill > MAX_COUNT) {
      throw new IllegalArgumentException(
          "The rule '%s' has a refill of %s: use 1 to %s".formatted(name, refill, MAX_COUNT));
    }
    if (initial < 0 || initial > count) {
      throw new IllegalArgumentException(
          "The rule '%s' has %s initial tokens: use 0 to %s, its capacity"
              .formatted(name, initial, count));
    }
    if (greedy) {
      BigInteger micros = BigInteger.valueOf(MICROSECONDS.convert(interval));
      BigInteger parts = micros.divide(micros.gcd(BigInteger.valueOf(refill))); // of a token
      BigInteger largest = EXACT.subtract(BigInteger.ONE).divide(parts);
      if (largest.compareTo(BigInteger.valueOf(count)) < 0) {
        throw new IllegalArgumentException(
            "The rule '%s' refills %s in %s, which cannot be counted exactly up to %s: its largest count is %s; use rounder numbers, or a shorter interval"
                .formatted(name, refill, interval, count, largest));
      }
    }
    RuleStack.requireWindow(
        "The rule '" + name + "' fills its bucket in", fill(count, refill, interval, greedy));
  }

  /**
   * A bucket that starts full and whose tokens come one by one; named after its numbers, such as
   * {@code 20-at-5-per-1s}.
   */
  public static TokenBucketRule of(long capacity, long refill, Duration interval) {
    return new TokenBucketRule(
        capacity + "-at-" + Rule.nameOf(refill, interval),
        capacity,
        refill,
        interval,
        true,
        capacity);
  }

  /** Returns this bucket, refilled at the end of each interval. */
  public TokenBucketRule byInterval() {
    return new TokenBucketRule(name, count, refill, interval, false, initial);
  }

  /** Returns this bucket with another number of tokens at a subject's first call. */
  public TokenBucketRule startingWith(long tokens) {
    return new TokenBucketRule(name, count, refill, interval, greedy, tokens);
  }

  /**
   * The time after which a subject without calls is new again, and has the initial tokens: twice
   * the time that it takes to fill a bucket, and at least an hour, so that a subject that calls
   * rarely finds the tokens it has waited for. Zero if a bucket starts full.
   */
  public Duration memory() {
    if (initial == count) {
      return Duration.ZERO;
    }
    Duration twice = window().multipliedBy(2);
    return twice.compareTo(LEAST_MEMORY) < 0 ? LEAST_MEMORY : twice;
  }

  /** The time that it takes to fill an empty bucket. */
  @Override
  public Duration window() {
    return fill(count, refill, interval, greedy);
  }

  private static Duration fill(long count, long refill, Duration interval, boolean greedy) {
    long interval0 = MICROSECONDS.convert(interval);
    if (greedy && count <= Long.MAX_VALUE / interval0 - 1) { // the usual case, without allocation
      return Duration.of((count * interval0 - 1) / refill + 1, MICROS);
    }
    BigInteger refills = BigInteger.valueOf(count);
    BigInteger micros = BigInteger.valueOf(MICROSECONDS.convert(interval));
    BigInteger each = BigInteger.valueOf(refill);
    BigInteger time =
        greedy ? up(refills.multiply(micros), each) : up(refills, each).multiply(micros);
    BigInteger most = BigInteger.valueOf(MICROSECONDS.convert(MAX_WINDOW)).add(BigInteger.ONE);
    return Duration.of(time.min(most).longValueExact(), MICROS);
  }

  private static BigInteger up(BigInteger dividend, BigInteger divisor) {
    return dividend.add(divisor).subtract(BigInteger.ONE).divide(divisor);
  }

  @Override
  public String shape() {
    return "bucket %s %s".formatted(greedy, interval);
  }

  /**
   * Its interval if the tokens come back together. Otherwise the time in which a quarter of the
   * capacity comes back: these tokens are missing while a lease lasts.
   */
  @Override
  public Duration longestLease() {
    Duration longest =
        greedy
            ? Duration.of(
                (long) ((double) count / 4 / refill * MICROSECONDS.convert(interval)), MICROS)
            : interval;
    return longest.compareTo(MAX_LEASE) < 0 ? longest : MAX_LEASE;
  }

  @Override
  public TokenBucketRule withName(String other) {
    return new TokenBucketRule(other, count, refill, interval, greedy, initial);
  }

  @Override
  public boolean carriesOver() {
    return true;
  }

  /**
   * Also divides the initial tokens and the rate. The rate stays whole if the divided one is slower
   * than a rule may be, or cannot be counted exactly.
   */
  @Override
  public TokenBucketRule share(int instances) {
    TokenBucketRule share =
        withCount((count + instances - 1) / instances)
            .startingWith((initial + instances - 1) / instances);
    try {
      return new TokenBucketRule(
          name, share.count, refill, interval.multipliedBy(instances), greedy, share.initial);
    } catch (IllegalArgumentException tooSlow) {
      return share;
    }
  }

  /**
   * Returns this rule with another capacity; the initial tokens are reduced if the capacity
   * requires it.
   */
  @Override
  public TokenBucketRule withCount(long other) {
    return new TokenBucketRule(
        name, other, refill, interval, greedy, initial == count ? other : Math.min(initial, other));
  }
}
