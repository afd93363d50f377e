// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.micronaut.thread.LimiterTimer;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/**
 * Renews what a call holds in the store for a short time, each third of it. The timer refers to it
 * weakly, so that it does not go on for ever if the application has dropped the call. It ends once.
 * Thread-safe.
 */
abstract class Renewal {

  /** Runs after this part of the time, so that one of them may fail. */
  private static final int RENEWALS = 3;

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
    schedule(System.nanoTime());
  }

  /** After a slow answer, too, a third of the time lies between the begins of two renewals. */
  private synchronized void schedule(long lastNanos) {
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
              Math.max(0, lastNanos + time.toNanos() / RENEWALS - nowNanos));
    }
  }

  private void renew() {
    long nowNanos = System.nanoTime();
    var unused =
        CompletableFuture.completedFuture(time)
            .thenCompose(this::extend) // a reservation may be the application's, and throw
            .whenComplete(
                (held, failure) -> {
                  if (failure != null || held) {
                    schedule(nowNanos);
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
