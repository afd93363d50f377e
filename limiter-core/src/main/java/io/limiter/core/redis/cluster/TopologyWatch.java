// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.cluster;

import io.netty.util.concurrent.EventExecutorGroup;
import io.netty.util.concurrent.ScheduledFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Schedules the lookups of the map of slots: every {@value #PERIOD_MILLIS} ms, since one lookup is
 * a short command over an open connection; about every {@value #LEAST_MILLIS} ms while the Cluster
 * is not healthy; and on request, at the same rate at most.
 */
final class TopologyWatch {

  static final long PERIOD_MILLIS = 5_000;
  static final long LEAST_MILLIS = 500;

  private final EventExecutorGroup executor;
  private final Supplier<CompletionStage<Boolean>> look;
  private @Nullable ScheduledFuture<?> next;
  private boolean looking;
  private boolean again;
  private long lastBeganNanos;

  /** When the next lookup is due, in ns; far in the future if none is. */
  private volatile long dueNanos;

  private volatile boolean closed;

  /**
   * @param look completes with whether the Cluster is healthy; never fails
   */
  TopologyWatch(EventExecutorGroup executor, Supplier<CompletionStage<Boolean>> look) {
    this.executor = executor;
    this.look = look;
    this.lastBeganNanos = System.nanoTime() - nanos(LEAST_MILLIS);
    this.dueNanos = farOff();
  }

  void start() {
    schedule(0);
  }

  /**
   * Requests a lookup because something may have changed. Cheap: called for each call that fails.
   */
  void soon() {
    long nowNanos = System.nanoTime();
    if (dueNanos - nowNanos > nanos(LEAST_MILLIS)) {
      schedule(0);
    }
  }

  private synchronized void schedule(long delayMillis) {
    long nowNanos = System.nanoTime();
    long atNanos = Math.max(nowNanos + nanos(delayMillis), lastBeganNanos + nanos(LEAST_MILLIS));
    again = looking; // its result may be older than the reason to look
    if (closed || looking || atNanos - dueNanos >= 0) {
      return;
    }
    if (next != null) {
      next.cancel(false);
    }
    dueNanos = atNanos;
    try {
      next = executor.schedule(this::run, Math.max(0, atNanos - nowNanos), TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException closing) {
      closed = true;
    }
  }

  private void run() {
    synchronized (this) {
      looking = true;
      again = false;
      lastBeganNanos = System.nanoTime();
      dueNanos = farOff();
    }
    look.get().whenComplete((well, failure) -> looked(failure == null && well));
  }

  private void looked(boolean well) {
    boolean calm;
    synchronized (this) {
      looking = false;
      calm = well && !again;
      dueNanos = farOff();
      next = null;
    }
    schedule(
        calm
            ? PERIOD_MILLIS
            : ThreadLocalRandom.current().nextLong(LEAST_MILLIS, LEAST_MILLIS * 3 / 2));
  }

  private static long farOff() {
    return System.nanoTime() + TimeUnit.DAYS.toNanos(1);
  }

  private static long nanos(long millis) {
    return TimeUnit.MILLISECONDS.toNanos(millis);
  }

  synchronized void close() {
    closed = true;
    if (next != null) {
      next.cancel(false);
    }
  }
}
