// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.micronaut.thread.LimiterTimer;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Renews the concurrency permits of all running calls, each after a third of its time limit: two
 * renewals may be lost before a permit expires. It refers to a call weakly, so that a call that the
 * application has dropped is not renewed for ever. The permit of a call whose method is not entered
 * yet is not renewed either: its client may send the body as slowly as it likes.
 */
final class PermitRenewal {

  private static final int RENEWALS = 3;

  private final LimiterTimer timer;
  private final LongAdder kept = new LongAdder();

  PermitRenewal(LimiterTimer timer) {
    this.timer = timer;
  }

  /** How many calls have permits that are renewed. */
  long kept() {
    return kept.sum();
  }

  /** Renews the permits of this call until it is over. */
  Renewal keep(LimitedCall call, Duration permitTime) {
    Renewal renewal = new Renewal(new WeakReference<>(call), permitTime.toNanos() / RENEWALS);
    kept.increment();
    renewal.schedule(renewal.nanos);
    return renewal;
  }

  /** The renewals of one call. */
  final class Renewal {

    private final WeakReference<LimitedCall> call;
    private final long nanos;
    private volatile @Nullable Future<?> next;

    // All are guarded by this.
    private boolean due; // it was skipped, because the method was not entered
    private int round; // what was scheduled in an earlier one is void
    private boolean ended;

    private Renewal(WeakReference<LimitedCall> call, long nanos) {
      this.call = call;
      this.nanos = nanos;
    }

    private synchronized void schedule(long delay) {
      int now = round;
      next = timer.schedule(() -> run(now), delay);
    }

    private void run(int scheduled) {
      LimitedCall running = call.get();
      if (running == null || !running.holdsPermits()) {
        end();
        return;
      }
      synchronized (this) {
        if (scheduled != round) {
          return;
        }
        if (!running.renewsPermits()) {
          due = true;
          schedule(nanos);
          return;
        }
      }
      renew(running);
    }

    private void renew(LimitedCall running) {
      long begin = System.nanoTime();
      // The next starts after the reply to this one: they would pile up while the store is slow.
      running
          .renewPermits()
          .whenComplete(
              (renewed, failure) -> schedule(Math.max(0, begin + nanos - System.nanoTime())));
    }

    /** The method is entered: a renewal that was skipped until now runs at once. */
    void entered(LimitedCall running) {
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

    /** The call is over. */
    void end() {
      synchronized (this) {
        if (!ended) {
          ended = true;
          kept.decrement();
        }
      }
      stop();
    }

    private void stop() {
      Future<?> scheduled = next;
      if (scheduled != null) {
        scheduled.cancel(false);
      }
    }
  }
}
