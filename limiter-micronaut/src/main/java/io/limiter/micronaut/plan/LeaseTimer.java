// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.micronaut.thread.LimiterTimer;
import jakarta.inject.Singleton;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * Has the leases of all calls in flight renewed, each after a third of its time: two renewals may
 * be lost before a place is. It does not hold the call: what the application has forgotten can
 * never end, and is not renewed for ever.
 */
@Singleton
final class LeaseTimer {

  private static final int RENEWALS = 3;

  private final LimiterTimer timer;

  LeaseTimer(LimiterTimer timer) {
    this.timer = timer;
  }

  /** Renews the lease of this call until it is over. */
  Renewal keep(CallEnd call, Duration lease) {
    Renewal renewal = new Renewal(new WeakReference<>(call), lease.toNanos() / RENEWALS);
    renewal.schedule(renewal.nanos);
    return renewal;
  }

  /** The renewals of one call. */
  final class Renewal implements Runnable {

    private final WeakReference<CallEnd> call;
    private final long nanos;
    private volatile @Nullable Future<?> next;

    private Renewal(WeakReference<CallEnd> call, long nanos) {
      this.call = call;
      this.nanos = nanos;
    }

    private void schedule(long delay) {
      next = timer.schedule(this, delay);
    }

    @Override
    public void run() {
      CallEnd running = call.get();
      if (running == null || !running.holds()) {
        return;
      }
      long begin = System.nanoTime();
      // Not before this one has its answer: while the store is slow they would pile up.
      running
          .renew()
          .whenComplete(
              (renewed, failure) -> schedule(Math.max(0, begin + nanos - System.nanoTime())));
    }

    void stop() {
      Future<?> due = next;
      if (due != null) {
        due.cancel(false);
      }
    }
  }
}
