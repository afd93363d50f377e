// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.store.DecisionReadout;

/**
 * Checks the numbers of a reply. One that has the right length may still not be from a script of
 * ours, or be made of what somebody else has written under a key: nobody is admitted, or told when
 * to come back, by numbers that cannot be.
 */
final class ReplyNumbers {

  /** In microseconds, the year 2255: no time is as late, and below it doubles are exact. */
  static final double LATEST = 0x1p53;

  private ReplyNumbers() {}

  /**
   * A time in microseconds.
   *
   * @throws StoreException if it is negative, more than that, or no number
   */
  static double time(double time, double most) {
    if (!(time >= 0 && time <= most)) {
      throw strange("time", time, 0, most);
    }
    return time;
  }

  /** The time that a cell tells, or that no wait would do. */
  static long waitFor(long wait) {
    return wait == DecisionReadout.NEVER ? wait : (long) time((double) wait, LATEST);
  }

  /** Units that are left; there may be less than none. */
  static long left(long left, long most) {
    if (left > most || left < -LATEST) {
      throw strange("number of units left", (double) left, -LATEST, (double) most);
    }
    return left;
  }

  /** What an algorithm of the user's own remembers: it would be shown what it never wrote. */
  static double finite(double number) {
    if (!Double.isFinite(number)) {
      throw strange("number", number, -Double.MAX_VALUE, Double.MAX_VALUE);
    }
    return number;
  }

  private static StoreException strange(String what, double number, double least, double most) {
    return new StoreException(
        FailureReason.ERROR,
        "Redis answered a decision with the %s %s instead of one from %s to %s"
            .formatted(what, number, least, most),
        null);
  }
}
