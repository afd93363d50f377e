// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.faults;

import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.EventExecutorGroup;
import io.netty.util.concurrent.Future;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A beat on each event loop every ten milliseconds. A late one indicates that something has held
 * the loop up, and all requests on it. Not counted is the time for which its thread had no core to
 * run on, and that for which the whole JVM stood still, as in a collection: then a thread that does
 * nothing but beat was late as well.
 */
final class HeartBeats implements AutoCloseable {

  private static final long INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  private final List<Future<?>> beats = new ArrayList<>();
  private final Thread idle = new Thread(this::beatIdly, "heart-beats");
  private volatile Times lags = new Times();
  private volatile boolean closed;

  /** For how long the JVM has stood still so far; written by the idle thread. */
  private volatile long stoodStill;

  private HeartBeats() {
    idle.setDaemon(true);
    idle.start();
  }

  static HeartBeats of(EventExecutorGroup loops) {
    HeartBeats hearts = new HeartBeats();
    for (EventExecutor loop : loops) {
      LoopBeat beat = loop.submit(() -> hearts.new LoopBeat()).syncUninterruptibly().getNow();
      hearts.beats.add(
          loop.scheduleWithFixedDelay(beat, INTERVAL_NANOS, INTERVAL_NANOS, TimeUnit.NANOSECONDS));
    }
    return hearts;
  }

  /** The delays of the beats so far; resets them. */
  Times nextLags() {
    Times ended = lags;
    lags = new Times();
    return ended;
  }

  private void beatIdly() {
    Beat beat = new Beat();
    while (!closed) {
      LockSupport.parkNanos(INTERVAL_NANOS);
      stoodStill += beat.lateness();
    }
  }

  /** On one thread. */
  private static class Beat {

    private final CoreWaits waits = CoreWaits.ofThisThread();
    private long last = System.nanoTime();
    private long waited = waits.nanos();

    /** By how much this beat comes too late, for another reason than that there was no core. */
    final long lateness() {
      long now = System.nanoTime();
      long waitedNow = waits.nanos();
      long late = now - last - INTERVAL_NANOS - (waitedNow - waited);
      last = now;
      waited = waitedNow;
      return Math.max(0, late);
    }
  }

  /** On an event loop. Each is judged at the next, when the idle thread has seen the same pause. */
  private final class LoopBeat extends Beat implements Runnable {

    private long before = stoodStill;
    private long late;

    @Override
    public void run() {
      long now = stoodStill;
      lags.add(Math.max(0, late - (now - before)));
      before = now;
      late = lateness();
    }
  }

  @Override
  public void close() {
    closed = true;
    beats.forEach(beat -> beat.cancel(false));
  }
}
