// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.log;

import io.micronaut.core.annotation.Internal;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;

/**
 * Logs that a part of the application failed and a response is sent without it: with the stack
 * trace, at most once in ten seconds, since denials may be very frequent.
 */
@Internal
public final class BrokenPartLog {

  private static final long INTERVAL_NANOS = Duration.ofSeconds(10).toNanos();

  private final Logger log;
  private final AtomicLong unreported = new AtomicLong();
  private final AtomicLong nextReport = new AtomicLong(System.nanoTime());

  public BrokenPartLog(Logger log) {
    this.log = log;
  }

  /**
   * @param instead which part has failed, and what is done instead
   */
  public void report(String instead, Throwable failure) {
    unreported.incrementAndGet();
    long now = System.nanoTime();
    long due = nextReport.get();
    if (now - due >= 0 && nextReport.compareAndSet(due, now + INTERVAL_NANOS)) {
      log.error("{}. Times since the last message: {}", instead, unreported.getAndSet(0), failure);
    }
  }
}
