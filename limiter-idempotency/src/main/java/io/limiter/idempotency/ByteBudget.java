// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import java.time.Duration;
import java.util.TreeMap;
import java.util.function.LongSupplier;

/**
 * The bytes of answers that this instance has written to a shared store and that live there. None
 * is counted for a shorter time than it lives, and none for 4% longer. Thread-safe.
 */
final class ByteBudget {

  /** Each time has at least as many ends. A few thousand are known at most, for all times. */
  private static final int ENDS_OF_TIME = 32;

  private final long most;
  private final LongSupplier nanos;

  // Guarded by this object.
  private final TreeMap<Long, Long> byEnd = new TreeMap<>();
  private long used;

  /**
   * @param nanos a monotonic clock in nanoseconds, which is not near its overflow
   */
  ByteBudget(long most, LongSupplier nanos) {
    this.most = most;
    this.nanos = nanos;
  }

  /** Counts bytes for a time, unless there is no room for them. */
  synchronized boolean take(int bytes, Duration time) {
    long now = nanos.getAsLong();
    while (!byEnd.isEmpty() && byEnd.firstKey() <= now) {
      used -= byEnd.pollFirstEntry().getValue();
    }
    if (used + bytes > most) {
      return false;
    }
    long step = Long.highestOneBit(Math.max(1, time.toNanos() / ENDS_OF_TIME));
    long end = now + time.toNanos();
    byEnd.merge((end + step - 1) / step * step, (long) bytes, Long::sum);
    used += bytes;
    return true;
  }

  synchronized long used() {
    return used;
  }
}
