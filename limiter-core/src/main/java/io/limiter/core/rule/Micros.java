// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import java.time.Duration;

/** Conversion between durations and whole microseconds, the time unit of stores. */
public final class Micros {

  private Micros() {}

  /** A duration in whole microseconds, rounded down. */
  public static long of(Duration duration) {
    return duration.toSeconds() * 1_000_000 + duration.toNanosPart() / 1_000;
  }

  /** Microseconds as a duration. */
  public static Duration toDuration(long micros) {
    return Duration.ofSeconds(micros / 1_000_000, micros % 1_000_000 * 1_000);
  }
}
