// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.resource.Delay;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The time before a lost connection is retried: random, from 10 ms to a bound, which is 200 ms for
 * the first attempt, twice that for the next, and a second from the fourth on. Lettuce's own jitter
 * leaves the first attempts and half of later delays fixed, so that all clients that lost Redis at
 * once would reconnect at once.
 */
final class ReconnectDelay extends Delay {

  private static final long SHORTEST_MILLIS = 10;
  private static final long FIRST_BOUND_MILLIS = 200;
  private static final long LONGEST_MILLIS = 1_000;

  /** Attempts after which the bound grows no more. */
  private static final long MAX_DOUBLINGS = 3;

  @Override
  public Duration createDelay(long attempt) {
    return Duration.ofMillis(
        ThreadLocalRandom.current().nextLong(SHORTEST_MILLIS, bound(attempt) + 1));
  }

  /**
   * @param attempt 1 for the first
   */
  private static long bound(long attempt) {
    long doublings = Math.max(0, Math.min(attempt - 1, MAX_DOUBLINGS));
    return Math.min(LONGEST_MILLIS, FIRST_BOUND_MILLIS << doublings);
  }
}
