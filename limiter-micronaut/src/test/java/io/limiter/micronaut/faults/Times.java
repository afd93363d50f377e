// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.faults;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/** How long things took, to a millisecond, in memory that does not grow with their number. */
final class Times {

  /** Longer ones are counted as this many milliseconds; the slowest is known exactly. */
  private static final int MOST = 10_000;

  private final AtomicLongArray byMillis = new AtomicLongArray(MOST + 1);
  private final AtomicLong count = new AtomicLong();
  private final AtomicLong slowest = new AtomicLong();

  void add(long nanos) {
    byMillis.incrementAndGet((int) Math.min(MOST, TimeUnit.NANOSECONDS.toMillis(nanos)));
    slowest.accumulateAndGet(nanos, Math::max);
    count.incrementAndGet();
  }

  long count() {
    return count.get();
  }

  Duration slowest() {
    return Duration.ofNanos(slowest.get());
  }

  /** The time within which so many of a hundred were done, rounded up. */
  Duration percentile(double percent) {
    long rank = (long) Math.ceil(count.get() * percent / 100);
    long seen = 0;
    int millis = 0;
    while (millis < MOST && (seen += byMillis.get(millis)) < rank) {
      millis++;
    }
    return Duration.ofMillis(millis + 1L);
  }

  @Override
  public String toString() {
    return "%d: median %d ms, p99 %d ms, slowest %d ms"
        .formatted(
            count(), percentile(50).toMillis(), percentile(99).toMillis(), slowest().toMillis());
  }
}
