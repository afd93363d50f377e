// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.micronaut.thread.LimiterTimer;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Renews what a call holds in the store for a short time, each third of it. The timer refers to it
 * weakly, so that it does not go on for ever if the application has dropped the call. It ends once.
 * Thread-safe.
 */
abstract class Renewal {

  /** Runs after this part of the time, so that some may fail. */
  private static final int RENEWALS = 3;

  /**
   * One that has failed runs again after this part, so that the store need not be back for long.
   */
  private static final int RETRIES = 30;

  private static final long SHORTEST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private final LimiterTimer timer;
  private final Duration time;
  private final Runnable whenDropped;

  // Guarded by this object.
  private long untilNanos;
  private @Nullable Future<?> next;
  private boolean ended;

  /**
   * @param time how long it is held without a renewal
   * @param longest how long it is renewed
   * @param whenDropped runs if the application has dropped it; must not refer to it
   */
  Renewal(LimiterTimer timer, Duration time, Duration longest, Runnable whenDropped) {
    this.timer = timer;
    this.time = time;
    this.untilNanos = System.nanoTime() + longest.toNanos();
    this.whenDropped = whenDropped;
  }

  /** Extends it; completes with whether it is held still. */
  abstract CompletionStage<Boolean> extend(Duration longer);

  /** It was not held any more when it was renewed. */
  abstract void reportLost();

  final void schedule() {
    schedule(System.nanoTime() + time.toNanos() / RENEWALS);
  }

  private synchronized void schedule(long dueNanos) {
    long nowNanos = System.nanoTime();
    if (!ended && nowNanos - untilNanos < 0) {
      WeakReference<Renewal> self = new WeakReference<>(this);
      Runnable dropped = whenDropped;
      next =
          timer.schedule(
              () -> {
                Renewal held = self.get();
                if (held == null) {
                  dropped.run();
                } else {
                  held.renew();
                }
              },
              Math.max(0, dueNanos - nowNanos));
    }
  }

  private void renew() {
    long nowNanos = System.nanoTime();
    var unused =
        CompletableFuture.completedFuture(time)
            .thenCompose(this::extend) // a reservation may be the application's, and throw
            .whenComplete(
                (held, failure) -> {
                  // After a slow answer, too, a third lies between the begins of two renewals.
                  long dueNanos = nowNanos + time.toNanos() / RENEWALS;
                  if (failure != null) {
                    long pause = Math.max(SHORTEST_PAUSE_NANOS, time.toNanos() / RETRIES);
                    long againNanos = System.nanoTime() + pause;
                    schedule(againNanos - dueNanos < 0 ? againNanos : dueNanos);
                  } else if (held) {
                    schedule(dueNanos);
                  } else if (end()) {
                    reportLost();
                  }
                });
  }

  /** It is renewed for this long from now on, unless it is not renewed any more. */
  final synchronized void renewFor(Duration longer) {
    untilNanos = System.nanoTime() + longer.toNanos();
  }

  /** How long it is held without a renewal. */
  final Duration holdTime() {
    return time;
  }

  final synchronized boolean isOver() {
    return ended;
  }

  /** Stops the renewals. Returns whether it was held. */
  final synchronized boolean end() {
    boolean first = !ended;
    ended = true;
    if (next != null) {
      next.cancel(false);
    }
    return first;
  }
}
