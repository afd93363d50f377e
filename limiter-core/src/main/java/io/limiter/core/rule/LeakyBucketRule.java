// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import java.math.BigInteger;
import java.time.Duration;

/**
 * Leaky bucket with waiting calls: at most {@code count} units depart in each {@code window},
 * evenly spaced. A call departs at once if the last departure was at least an interval ago ({@code
 * window / count}). Otherwise {@code Verdict.delay} gives the time until the call may begin, and
 * the code that runs the call waits. A call of cost n takes n departures and begins at the first of
 * them. The call is denied at once if the queue is full, or if one of its units would depart later
 * than {@code maxWait} from now.
 *
 * <p>A waiting call that is abandoned is refunded ({@code Reservation.refund}), which frees its
 * place in the queue; {@code fair} determines whether its departure can be used again. Once its
 * departure has passed, a refund gives nothing back.
 *
 * <p>Departures are kept in fractions of a microsecond, chosen so that an interval is a whole
 * number of them: three a second do not drift.
 *
 * @param name the rule's name; the factory derives one from the numbers
 * @param count units that depart in a window, 1 to {@value Rule#MAX_COUNT}
 * @param window 1 ms to 366 days, in whole microseconds
 * @param queue the most units that wait, 1 to {@value #MAX_QUEUE}. If calls must not wait, use
 *     {@code TokenBucketRule.of(1, count, window)}
 * @param maxWait the longest time until a unit departs, 1 ms to 5 minutes, in whole microseconds,
 *     and no longer than {@value #MAX_DEPARTURES} departures take: the client keeps its connection
 *     open in the meantime. It may be shorter than the time of the whole queue: a call that costs
 *     more than {@link #capacity()} can never be admitted
 * @param fair whether calls depart in the order of their arrival; then the departure of an
 *     abandoned call passes unused. Otherwise the next call of one unit takes the earliest
 *     abandoned departure, and may overtake waiting calls; unless calls wait between those that
 *     were abandoned
 */
public record LeakyBucketRule(
    String name, long count, Duration window, int queue, Duration maxWait, boolean fair)
    implements Rule {

  /** The longest queue. */
  public static final int MAX_QUEUE = 10_000;

  /** The longest wait. */
  public static final Duration MAX_WAIT = Duration.ofMinutes(5);

  /** The most departures within {@code maxWait}: 400 a second if that is 5 minutes. */
  public static final int MAX_DEPARTURES = 120_000;

  /** Doubles are exact below this number, and Redis scripts have no other numbers. */
  private static final BigInteger EXACT = BigInteger.ONE.shiftLeft(53);

  public LeakyBucketRule {
    RuleStack.requireNumbers(name, count, MAX_COUNT, window);
    if (queue < 1 || queue > MAX_QUEUE) {
      throw new IllegalArgumentException(
          "The rule '%s' has a queue of %s: use 1 to %s; if calls must not wait, use a token bucket of 1"
              .formatted(name, queue, MAX_QUEUE));
    }
    if (maxWait.compareTo(MIN_WINDOW) < 0
        || maxWait.compareTo(MAX_WAIT) > 0
        || maxWait.toNanosPart() % 1_000 != 0) {
      throw new IllegalArgumentException(
          "The rule '%s' makes calls wait up to %s: use 1 ms to 5 minutes, in whole microseconds"
              .formatted(name, maxWait));
    }
    BigInteger micros = BigInteger.valueOf(MICROSECONDS.convert(window));
    BigInteger units = BigInteger.valueOf(count);
    BigInteger part = micros.gcd(units);
    BigInteger waiting =
        units.divide(part).multiply(BigInteger.valueOf(MICROSECONDS.convert(maxWait)));
    BigInteger queued = micros.divide(part).multiply(BigInteger.valueOf(queue + 1L));
    BigInteger departures = waiting.divide(micros.divide(part));
    if (departures.compareTo(BigInteger.valueOf(MAX_DEPARTURES)) > 0) {
      throw new IllegalArgumentException(
          "The rule '%s' makes calls wait up to %s, which is %s departures: shorten the wait to %s departures at most"
              .formatted(name, maxWait, departures, MAX_DEPARTURES));
    }
    if (waiting.add(queued).compareTo(EXACT) >= 0) {
      BigInteger any =
          EXACT
              .subtract(BigInteger.ONE)
              .subtract(micros.multiply(BigInteger.valueOf(queue + 1L)))
              .divide(BigInteger.valueOf(MICROSECONDS.convert(maxWait)));
      throw new IllegalArgumentException(
          "The rule '%s' spaces %s in %s, which cannot be counted exactly for waits up to %s: use %srounder numbers, a shorter queue, or a shorter wait"
              .formatted(
                  name,
                  count,
                  window,
                  maxWait,
                  any.signum() > 0 ? "a count up to " + any + ", " : ""));
    }
  }

  /** A fair rule named after its numbers, such as {@code 2-per-1s-queue-10}. */
  public static LeakyBucketRule of(long count, Duration window, int queue, Duration maxWait) {
    return new LeakyBucketRule(
        Rule.nameOf(count, window) + "-queue-" + queue, count, window, queue, maxWait, true);
  }

  /** Returns this rule with or without first come, first served. */
  public LeakyBucketRule withFair(boolean firstComeFirstServed) {
    return new LeakyBucketRule(name, count, window, queue, maxWait, firstComeFirstServed);
  }

  /** Returns this rule with another queue. */
  public LeakyBucketRule withQueue(int units) {
    return new LeakyBucketRule(name, count, window, units, maxWait, fair);
  }

  @Override
  public boolean waits() {
    return true;
  }

  /** Zero: each call has a departure of its own. */
  @Override
  public Duration longestLease() {
    return Duration.ZERO;
  }

  /** The unit that departs at once, and those that wait: no unit waits for longer than maxWait. */
  @Override
  public long capacity() {
    long inTime = MICROSECONDS.convert(maxWait) * count / MICROSECONDS.convert(window);
    return Math.min(queue, inTime) + 1;
  }

  @Override
  public String shape() {
    return "leaky " + window();
  }

  @Override
  public LeakyBucketRule withName(String other) {
    return new LeakyBucketRule(other, count, window, queue, maxWait, fair);
  }

  @Override
  public LeakyBucketRule withCount(long other) {
    return new LeakyBucketRule(name, other, window, queue, maxWait, fair);
  }

  @Override
  public boolean carriesOver() {
    return true;
  }

  /**
   * Divides the queue and the rate. The rate stays whole if the divided one is slower than a rule
   * may be, or cannot be counted exactly.
   */
  @Override
  public LeakyBucketRule share(int instances) {
    LeakyBucketRule share = withQueue((int) ((queue + instances - 1L) / instances));
    try {
      return new LeakyBucketRule(
          name, count, window.multipliedBy(instances), share.queue, maxWait, fair);
    } catch (IllegalArgumentException tooSlow) {
      return share;
    }
  }
}
