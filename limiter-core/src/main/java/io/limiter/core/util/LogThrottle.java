// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.util;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * Decides when a frequent event is logged: the first one at once, and then at most one message in
 * 10 s, with the number of events since the last. Safe for use by several threads.
 */
public final class LogThrottle {

  private static final long INTERVAL_NANOS = Duration.ofSeconds(10).toNanos();

  private final LongSupplier nanos;
  private final AtomicLong unreported = new AtomicLong();
  private final AtomicLong nextReport;

  public LogThrottle() {
    this(System::nanoTime);
  }

  /**
   * @param nanos a monotonic clock in nanoseconds, which may start anywhere and overflow
   */
  public LogThrottle(LongSupplier nanos) {
    this.nanos = nanos;
    this.nextReport = new AtomicLong(nanos.getAsLong());
  }

  /**
   * Counts an event.
   *
   * @return the number of events since the last message, with this one, if a message is due now;
   *     else 0
   */
  public long count() {
    unreported.incrementAndGet();
    long nowNanos = nanos.getAsLong();
    long due = nextReport.get();
    return nowNanos - due >= 0 && nextReport.compareAndSet(due, nowNanos + INTERVAL_NANOS)
        ? unreported.getAndSet(0)
        : 0;
  }
}
