// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.micronaut.thread.LimiterTimer;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * What a call holds in the store for a short time, which is renewed each third of it while its
 * method runs. The timer refers to it weakly, so that it is not renewed for ever if the application
 * has dropped the call. It ends once. Thread-safe.
 */
abstract class Held {

  /** It is renewed after this part of its time, so that one renewal may fail. */
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
  Held(LimiterTimer timer, Duration time, Duration longest, Runnable whenDropped) {
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
      WeakReference<Held> self = new WeakReference<>(this);
      Runnable dropped = whenDropped;
      next =
          timer.schedule(
              () -> {
                Held held = self.get();
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

  /**
   * The concurrency permits of a call. They are not renewed while its method is not entered: its
   * client may send the body as slowly as it likes.
   */
  static final class HeldPermits extends Held {

    /** Until the call ends. */
    private static final Duration ALWAYS = Duration.ofDays(36_500);

    private final LimitedCall call;
    private final LongAdder kept;
    private boolean due; // a renewal was skipped; guarded by this object

    private HeldPermits(LimiterTimer timer, Duration time, LimitedCall call, LongAdder kept) {
      super(timer, time, ALWAYS, kept::decrement);
      this.call = call;
      this.kept = kept;
    }

    /**
     * Renews the permits of this call from now on.
     *
     * @param kept counts the calls that hold some
     */
    static HeldPermits of(LimiterTimer timer, Duration time, LimitedCall call, LongAdder kept) {
      HeldPermits held = new HeldPermits(timer, time, call, kept);
      kept.increment();
      held.schedule();
      return held;
    }

    @Override
    CompletionStage<Boolean> extend(Duration longer) {
      if (!call.holdsPermits()) {
        return CompletableFuture.completedFuture(false);
      }
      synchronized (this) {
        due = !call.renewsPermits();
        if (due) {
          return CompletableFuture.completedFuture(true);
        }
      }
      return call.renewPermits().thenApply(renewed -> true);
    }

    /** The method is entered: a renewal that was skipped until now runs at once. */
    void entered() {
      synchronized (this) {
        if (!due) {
          return;
        }
        due = false;
      }
      var unused = call.renewPermits();
    }

    /** The call is over. */
    void over() {
      if (end()) {
        kept.decrement();
      }
    }

    @Override
    void reportLost() {
      kept.decrement();
    }
  }
}
