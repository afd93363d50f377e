// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * For how long this machine kept the threads of a call from running: those had no core, or the
 * whole JVM stood still, as in a collection. What a test measures, less this, is the product's own
 * time, on a busy machine too.
 *
 * <p>One thread of the JVM looks every few milliseconds. It remembers some minutes.
 */
public final class Pauses {

  private static final long INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
  private static final int LOOKS = 1 << 16;

  /** As it looks for new threads only so often. */
  private static final int LOOKS_OF_THREADS = 10;

  /** Who sends a call, decides it, and ends it when its time is over. */
  private static final String[] THREADS = {
    "main",
    "java",
    "load",
    "caller-",
    "http-load",
    "lettuce-",
    "limiter-deadline",
    "default-nioEventLoop",
    "io-executor-thread-",
    "limiter-call-",
  };

  private static final Pauses OF_THIS_JVM = new Pauses();

  /** When it looked, and all pauses until then. */
  private final long[] times = new long[LOOKS];

  private final long[] pauses = new long[LOOKS];
  private long looks;

  private Pauses() {
    look(System.nanoTime(), 0);
    Thread thread = new Thread(this::run, "pauses");
    thread.setDaemon(true);
    thread.start();
  }

  /** Begins to look, unless it does already: what was before it is not excused. */
  public static void watch() {
    OF_THIS_JVM.last();
  }

  /**
   * The time that a call took, less the pauses.
   *
   * @param from by {@link System#nanoTime}
   * @param to by the same, not in the future
   */
  public static Duration without(long from, long to) {
    return Duration.ofNanos(Math.max(0, to - from - OF_THIS_JVM.between(from, to)));
  }

  /** Whether pauses are known up to this time, so that {@link #without} need not wait for them. */
  public static boolean areKnownUntil(long time) {
    return OF_THIS_JVM.last() - time >= 0;
  }

  private void run() {
    CoreWaits own = CoreWaits.ofThisThread();
    CoreWaits waits = CoreWaits.of(THREADS);
    long before = System.nanoTime();
    long ownBefore = own.nanos();
    long sum = 0;
    for (int i = 1; ; i++) {
      LockSupport.parkNanos(INTERVAL_NANOS);
      if (i % LOOKS_OF_THREADS == 0) {
        waits.look();
      }
      long now = System.nanoTime();
      long ownNow = own.nanos();
      long stoodStill = now - before - INTERVAL_NANOS - (ownNow - ownBefore);
      // What several threads wait for at once delays a call once.
      sum += Math.max(0, stoodStill) + waits.longest();
      look(now, sum);
      before = now;
      ownBefore = ownNow;
    }
  }

  private synchronized void look(long time, long sum) {
    int place = (int) (looks++ % LOOKS);
    times[place] = time;
    pauses[place] = sum;
    notifyAll();
  }

  private synchronized long last() {
    return times[(int) ((looks - 1) % LOOKS)];
  }

  /** From the last look before to the first after. */
  private synchronized long between(long from, long to) {
    try {
      for (int i = 0; i < 100 && last() - to < 0; i++) {
        wait(TimeUnit.NANOSECONDS.toMillis(INTERVAL_NANOS));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return pauses[place(to, true)] - pauses[place(from, false)];
  }

  /** The look next to this time: the first that is not before it, or the last that is not after. */
  private int place(long time, boolean after) {
    long low = Math.max(0, looks - LOOKS);
    long high = looks - 1;
    while (high - low > 1) {
      long middle = (low + high) / 2;
      if (times[(int) (middle % LOOKS)] - time < 0) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return (int) ((after ? high : low) % LOOKS);
  }
}
