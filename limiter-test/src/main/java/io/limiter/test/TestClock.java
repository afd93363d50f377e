// SPDX-License-Identifier: Apache-2.0
package io.limiter.test;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.time.temporal.TemporalUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The clock by which the limiter counts in a {@link LimitTest}. It stands still until the test
 * moves it, in steps of a microsecond, the limiter's own resolution. Everything that a decision
 * computes follows it: windows, tokens, bans, duplicates, {@code Retry-After}, the {@code
 * RateLimit} and the {@code X-RateLimit} fields.
 *
 * <p>Other times are real: a call that a leaky bucket delays waits as long as in production.
 *
 * <p>Thread-safe. With {@link LimitTest.Store#REDIS} every method throws an {@link
 * IllegalStateException}.
 */
public final class TestClock {

  /**
   * The time at which each test begins: midnight, UTC, of the first of January 2024, a Monday. So
   * each aligned window begins with the test.
   */
  public static final Instant START = Instant.parse("2024-01-01T00:00:00Z");

  private static final long START_MICROS = ChronoUnit.MICROS.between(Instant.EPOCH, START);

  private final boolean driven;
  private final AtomicLong micros = new AtomicLong(START_MICROS);
  private volatile Runnable restarted = () -> {};

  /**
   * @param driven whether the store uses it
   */
  TestClock(boolean driven) {
    this.driven = driven;
  }

  /**
   * The current time.
   *
   * @throws IllegalStateException if the limiter counts in Redis
   */
  public Instant now() {
    requireDriven();
    return Instant.EPOCH.plus(micros.get(), ChronoUnit.MICROS);
  }

  /**
   * Moves the clock forward.
   *
   * @param time whole microseconds, 0 or more
   * @throws IllegalArgumentException if the time is negative or a fraction of a microsecond
   * @throws IllegalStateException if the limiter counts in Redis
   */
  public void advance(Duration time) {
    requireDriven();
    if (time.isNegative()) {
      throw new IllegalArgumentException(
          "advance(%s): use 0 or more; for an earlier time use set(…)".formatted(time));
    }
    micros.addAndGet(micros(time, "advance(" + time + ")"));
  }

  /**
   * Moves the clock forward, as in {@code advance(1, ChronoUnit.MICROS)}.
   *
   * @param amount 0 or more
   * @param unit a unit of a fixed length, such as {@link ChronoUnit#MINUTES}
   * @throws IllegalArgumentException if the time is negative or a fraction of a microsecond
   * @throws IllegalStateException if the limiter counts in Redis
   */
  public void advance(long amount, TemporalUnit unit) {
    advance(unit.getDuration().multipliedBy(amount));
  }

  /**
   * Sets the clock, for windows that begin at a time of day. An earlier time is possible, as when
   * the clock of a server is corrected.
   *
   * @param time whole microseconds
   * @throws IllegalArgumentException if the time has a fraction of a microsecond
   * @throws IllegalStateException if the limiter counts in Redis
   */
  public void set(Instant time) {
    requireDriven();
    micros.set(micros(Duration.between(Instant.EPOCH, time), "set(" + time + ")"));
  }

  private static long micros(Duration time, String call) {
    if (time.getNano() % 1_000 != 0) {
      throw new IllegalArgumentException(
          call + ": the clock moves in whole microseconds, the resolution of the limiter");
    }
    return Math.addExact(
        Math.multiplyExact(time.getSeconds(), 1_000_000L), time.getNano() / 1_000L);
  }

  /** The time in microseconds since the epoch. */
  long micros() {
    return micros.get();
  }

  void restart() {
    micros.set(START_MICROS);
    restarted.run();
  }

  void onRestart(Runnable action) {
    restarted = action;
  }

  private void requireDriven() {
    if (!driven) {
      throw new IllegalStateException(
          "The clock of Redis cannot be set: test what depends on the time in a class with @LimitTest, whose store is in memory, and use store = REDIS only for what depends on Redis");
    }
  }
}
