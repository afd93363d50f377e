// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import io.limiter.core.StoreException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.slf4j.Logger;

/**
 * Says that a store fails, at most once in ten seconds, with the number of failures since it was
 * last said.
 */
final class FailureLog {

  private static final long INTERVAL_NANOS = Duration.ofSeconds(10).toNanos();

  private final Logger log;
  private final LongSupplier nanos;
  private final AtomicLong unreported = new AtomicLong();
  private final AtomicLong nextReport;

  FailureLog(Logger log) {
    this(log, System::nanoTime);
  }

  FailureLog(Logger log, LongSupplier nanos) {
    this.log = log;
    this.nanos = nanos;
    this.nextReport = new AtomicLong(nanos.getAsLong());
  }

  void report(StoreException failure) {
    unreported.incrementAndGet();
    long now = nanos.getAsLong();
    long due = nextReport.get();
    if (now - due >= 0 && nextReport.compareAndSet(due, now + INTERVAL_NANOS)) {
      log.warn(
          "The limit store fails ({}): {}. Decisions taken by the fallback since the last message: {}",
          failure.reason(),
          failure.getMessage(),
          unreported.getAndSet(0));
    }
  }
}
