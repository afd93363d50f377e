// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import io.limiter.core.StoreException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;

/**
 * Says that a store fails, at most once in ten seconds, with the number of failures since it was
 * last said.
 */
final class FailureLog {

  private static final long INTERVAL_NANOS = Duration.ofSeconds(10).toNanos();

  private final Logger log;
  private final AtomicLong unreported = new AtomicLong();
  private final AtomicLong nextReport = new AtomicLong(System.nanoTime());

  FailureLog(Logger log) {
    this.log = log;
  }

  void report(StoreException failure) {
    unreported.incrementAndGet();
    long now = System.nanoTime();
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
