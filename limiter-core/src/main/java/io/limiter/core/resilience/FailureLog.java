// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import io.limiter.core.StoreException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.slf4j.Logger;

/**
 * Logs why the fallback decides, at most once in ten seconds, with the number of its decisions
 * since the last message.
 */
final class FailureLog {

  private static final long INTERVAL_NANOS = Duration.ofSeconds(10).toNanos();

  private static final String COUNT =
      " ({}): {}. Decisions taken by the fallback since the last message: {}";

  private final Logger log;
  private final String what;
  private final LongSupplier nanos;
  private final AtomicLong unreported = new AtomicLong();
  private final AtomicLong nextReport;

  /** For failures of the store. */
  static FailureLog ofTheStore(Logger log) {
    return new FailureLog(log, "The limit store fails", System::nanoTime);
  }

  /** For delays of this process. */
  static FailureLog ofThisProcess(Logger log) {
    return new FailureLog(log, "This process is late, not the limit store", System::nanoTime);
  }

  FailureLog(Logger log, String what, LongSupplier nanos) {
    this.log = log;
    this.what = what;
    this.nanos = nanos;
    this.nextReport = new AtomicLong(nanos.getAsLong());
  }

  void report(StoreException failure) {
    unreported.incrementAndGet();
    long nowNanos = nanos.getAsLong();
    long due = nextReport.get();
    if (nowNanos - due >= 0 && nextReport.compareAndSet(due, nowNanos + INTERVAL_NANOS)) {
      log.warn(what + COUNT, failure.reason(), failure.getMessage(), unreported.getAndSet(0));
    }
  }
}
