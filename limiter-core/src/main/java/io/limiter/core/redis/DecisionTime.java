// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.redis.connection.RedisSettings;
import java.time.Duration;

/**
 * The time of one decision, shared by the scripts that it runs one after another: how long Redis
 * may take for all of them, and the hard deadline, which ends the wait whichever side is late.
 */
final class DecisionTime {

  private final Duration deadline;
  private final Duration hardDeadline;
  private final long hardDueNanos;

  /** Written between two scripts, by the thread that has read the reply of one of them. */
  private volatile long spentNanos;

  /**
   * @param nowNanos the value of {@link System#nanoTime}
   */
  DecisionTime(Duration deadline, Duration hardDeadline, long nowNanos) {
    this.deadline = deadline;
    this.hardDeadline = hardDeadline;
    this.hardDueNanos = nowNanos + hardDeadline.toNanos();
  }

  static DecisionTime of(Duration deadline, RedisSettings settings) {
    return new DecisionTime(deadline, settings.hardDeadline(deadline), System.nanoTime());
  }

  /** Returns a new time of the same length. */
  DecisionTime again() {
    return new DecisionTime(deadline, hardDeadline, System.nanoTime());
  }

  Duration deadline() {
    return deadline;
  }

  Duration hardDeadline() {
    return hardDeadline;
  }

  long hardDueNanos() {
    return hardDueNanos;
  }

  /** What is left of the deadline; zero or less if it has passed. */
  long leftNanos() {
    return deadline.toNanos() - spentNanos;
  }

  /** Counts time that Redis has taken. */
  @SuppressWarnings("NonAtomicVolatileUpdate") // scripts follow one another
  void spend(long nanos) {
    spentNanos += nanos;
  }
}
