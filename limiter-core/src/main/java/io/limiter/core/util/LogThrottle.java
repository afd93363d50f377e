// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.util;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.slf4j.Logger;

/**
 * Bounds what others can write into a log. An instance decides when a frequent event is logged: the
 * first one at once, and then at most one message in 10 s, with the number of events since the
 * last. {@link #oneLine} bounds a text of others. Safe for use by several threads.
 */
public final class LogThrottle {

  private static final long INTERVAL_NANOS = Duration.ofSeconds(10).toNanos();

  private final LongSupplier nanos;
  private final AtomicLong unreported = new AtomicLong();
  private final AtomicLong nextReport;
  private volatile long lastEvent;

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
    lastEvent = nowNanos;
    long due = nextReport.get();
    return nowNanos - due >= 0 && nextReport.compareAndSet(due, nowNanos + INTERVAL_NANOS)
        ? unreported.getAndSet(0)
        : 0;
  }

  /**
   * The events that no message has named yet, once none has happened for the time between two
   * messages; else 0. Each is returned once.
   */
  public long rest() {
    return unreported.get() > 0 && nanos.getAsLong() - lastEvent >= INTERVAL_NANOS
        ? unreported.getAndSet(0)
        : 0;
  }

  /**
   * Counts a failure of a part that is replaced by something else, and logs it with the stack trace
   * if a message is due.
   *
   * @param instead which part has failed, and what is done instead
   */
  public void report(Logger log, String instead, Throwable failure) {
    long times = count();
    if (times > 0) {
      log.error("{}. Occurrences since the last message: {}", instead, times, failure);
    }
  }

  /**
   * A text of others as part of one line, so that it can neither forge lines nor fill the log:
   * characters that are not printed become question marks.
   *
   * @param max the most characters of it
   */
  public static String oneLine(String text, int max) {
    StringBuilder line = new StringBuilder(Math.min(text.length(), max));
    text.codePoints()
        .limit(max)
        .forEach(point -> line.appendCodePoint(isPrinted(point) ? point : '?'));
    return line.toString();
  }

  private static boolean isPrinted(int point) {
    return switch (Character.getType(point)) {
      case Character.CONTROL,
          Character.FORMAT,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR,
          Character.SURROGATE ->
          false;
      default -> true;
    };
  }
}
