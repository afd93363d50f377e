// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.store.DecisionReadout;

/**
 * Checks the numbers of a reply. A reply of the right length may still come from another script, or
 * from a value that other software wrote under a key. No call is admitted, and no retry-after
 * returned, by impossible numbers.
 */
final class ReplyNumbers {

  /** In microseconds, the year 2255: no time is later, and doubles below it are exact. */
  static final double LATEST = 0x1p53;

  private ReplyNumbers() {}

  /**
   * Checks a time in microseconds.
   *
   * @throws StoreException if it is negative, above {@code most}, or not a number
   */
  static double timeMicros(double micros, double most) {
    if (!(micros >= 0 && micros <= most)) {
      throw strange("time", micros, 0, most);
    }
    return micros;
  }

  /**
   * Checks a retry-after of a cell, which may be {@link
   * io.limiter.core.store.DecisionReadout#NEVER}.
   */
  static long retryAfterMicros(long micros) {
    return micros == DecisionReadout.NEVER ? micros : (long) timeMicros((double) micros, LATEST);
  }

  /** Checks units that are left; they may be negative. */
  static long remainingBefore(long remainingBefore, long most) {
    if (remainingBefore > most || remainingBefore < -LATEST) {
      throw strange("number of units left", (double) remainingBefore, -LATEST, (double) most);
    }
    return remainingBefore;
  }

  /**
   * Checks a state value of a custom algorithm, which must only receive values that it has written.
   */
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
