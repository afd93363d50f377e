// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.micronaut.thread.LimiterTimer;
import jakarta.inject.Singleton;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * Has the leases of all calls in flight renewed, each after a third of its time: two renewals may
 * be lost before a place is. It does not hold the call: what the application has forgotten can
 * never end, and is not renewed for ever. Nor is the lease of a call whose method was not entered
 * yet: its client may send the body as slowly as it likes.
 */
@Singleton
final class PermitRenewal {

  private static final int RENEWALS = 3;

  private final LimiterTimer timer;

  PermitRenewal(LimiterTimer timer) {
    this.timer = timer;
  }

  /** Renews the lease of this call until it is over. */
  Renewal keep(AdmittedCall call, Duration lease) {
    Renewal renewal = new Renewal(new WeakReference<>(call), lease.toNanos() / RENEWALS);
    renewal.schedule(renewal.nanos);
    return renewal;
  }

  /** The renewals of one call. */
  final class Renewal {

    private final WeakReference<AdmittedCall> call;
    private final long nanos;
    private volatile @Nullable Future<?> next;

    // Both are guarded by this.
    private boolean due; // it was skipped, because the method was not entered
    private int round; // what was scheduled in an earlier one is void

    private Renewal(WeakReference<AdmittedCall> call, long nanos) {
      this.call = call;
      this.nanos = nanos;
    }

    private synchronized void schedule(long delay) {
      int now = round;
      next = timer.schedule(() -> run(now), delay);
    }

    private void run(int scheduled) {
      AdmittedCall running = call.get();
      if (running == null || !running.holds()) {
        return;
      }
      synchronized (this) {
        if (scheduled != round) {
          return;
        }
        if (!running.renews()) {
          due = true;
          schedule(nanos);
          return;
        }
      }
      renew(running);
    }

    private void renew(AdmittedCall running) {
      long begin = System.nanoTime();
      // Not before this one has its answer: while the store is slow they would pile up.
      running
          .renew()
          .whenComplete(
              (renewed, failure) -> schedule(Math.max(0, begin + nanos - System.nanoTime())));
    }

    /** The method is entered: what was skipped until now is done at once. */
    void entered(AdmittedCall running) {
      synchronized (this) {
        if (!due) {
          return;
        }
        due = false;
        round++;
        stop();
      }
      renew(running);
    }

    void stop() {
      Future<?> scheduled = next;
      if (scheduled != null) {
        scheduled.cancel(false);
      }
    }
  }
}
