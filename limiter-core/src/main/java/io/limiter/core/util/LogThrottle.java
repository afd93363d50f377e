// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.util;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/**
 * Limits what untrusted input can write into a log. An instance decides when a frequent event is
 * logged: the first one at once, then at most one message in 10 s, with the number of events since
 * the last message. {@link #oneLine} sanitizes untrusted text. Thread-safe.
 */
public final class LogThrottle {

  private static final long INTERVAL_NANOS = Duration.ofSeconds(10).toNanos();

  private final LongSupplier nanos;
  private final AtomicLong unreported = new AtomicLong();
  private final AtomicLong nextReport;
  private final AtomicLong sinceCalm = new AtomicLong();
  private volatile long firstEvent;
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
   * @return the number of events since the last message, including this one, if a message is due
   *     now; otherwise 0
   */
  public long count() {
    unreported.incrementAndGet();
    long nowNanos = nanos.getAsLong();
    if (sinceCalm.getAndIncrement() == 0) {
      firstEvent = nowNanos;
    }
    lastEvent = nowNanos;
    long due = nextReport.get();
    return nowNanos - due >= 0 && nextReport.compareAndSet(due, nowNanos + INTERVAL_NANOS)
        ? unreported.getAndSet(0)
        : 0;
  }

  /**
   * A series of events, each less than the time between two messages after the previous one.
   *
   * @param time the time from the first event to the last
   */
  public record Series(long events, Duration time) {}

  /** Returns the last series once it has ended, otherwise null. Each series is returned once. */
  public @Nullable Series ended() {
    if (sinceCalm.get() == 0 || nanos.getAsLong() - lastEvent < INTERVAL_NANOS) {
      return null;
    }
    Duration time = Duration.ofNanos(lastEvent - firstEvent);
    long events = sinceCalm.getAndSet(0);
    unreported.set(0);
    return events == 0 ? null : new Series(events, time);
  }

  /**
   * Counts a failure of a part that is replaced by something else, and logs it with the stack trace
   * if a message is due. An exception or an error of any kind is such a failure: a part may be the
   * application's, and lack a class. Errors of the process, such as an OutOfMemoryError, are none.
   *
   * @param instead which part has failed, and what is done instead
   * @throws VirtualMachineError the failure, unless it is a StackOverflowError, which ends with the
   *     part
   */
  public void report(Logger log, String instead, Throwable failure) {
    if (failure instanceof VirtualMachineError fatal && !(fatal instanceof StackOverflowError)) {
      throw fatal;
    }
    long times = count();
    if (times > 0) {
      log.error("{}. Occurrences since the last message: {}", instead, times, failure);
    }
  }

  /**
   * Sanitizes untrusted text for one log line, so that it can neither forge lines nor fill the log:
   * non-printable characters become question marks.
   *
   * @param max the maximum length
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
