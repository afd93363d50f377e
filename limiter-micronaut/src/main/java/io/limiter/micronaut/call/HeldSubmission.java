// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.core.Reservation;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.thread.LimiterTimer;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A submission that is taken for a short time, and renewed each third of it while its method runs.
 * It ends once. Thread-safe.
 */
abstract class HeldSubmission {

  private static final Logger LOG = LoggerFactory.getLogger(HeldSubmission.class);

  /** It is renewed after this part of its time, so that one renewal may fail. */
  private static final int RENEWALS = 3;

  private final LimiterTimer timer;
  private final LogThrottle lost;
  private final Duration claim;
  private final Duration longest;
  private final long beginNanos = System.nanoTime();

  // Guarded by this object.
  private @Nullable Future<?> next;
  private boolean ended;

  /**
   * @param lost bounds the messages about lost ones
   * @param claim how long it is taken without a renewal
   * @param longest how long its result would be kept: no method runs for as long
   */
  HeldSubmission(LimiterTimer timer, LogThrottle lost, Duration claim, Duration longest) {
    this.timer = timer;
    this.lost = lost;
    this.claim = claim;
    this.longest = longest;
  }

  /** Extends it; completes with whether it is taken still. */
  abstract CompletionStage<Boolean> extend(Duration time);

  final void schedule() {
    schedule(System.nanoTime());
  }

  /** After a slow answer, too, a third of the time lies between the begins of two renewals. */
  private synchronized void schedule(long lastNanos) {
    long nowNanos = System.nanoTime();
    if (!ended && nowNanos - beginNanos < longest.toNanos()) {
      WeakReference<HeldSubmission> self = new WeakReference<>(this); // a lost call ends it, too
      next =
          timer.schedule(
              () -> {
                HeldSubmission held = self.get();
                if (held != null) {
                  held.renew();
                }
              },
              Math.max(0, lastNanos + claim.toNanos() / RENEWALS - nowNanos));
    }
  }

  private void renew() {
    long nowNanos = System.nanoTime();
    var unused =
        CompletableFuture.completedFuture(claim)
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

  /** Stops the renewals. Returns whether it was held. */
  final synchronized boolean end() {
    boolean first = !ended;
    ended = true;
    if (next != null) {
      next.cancel(false);
    }
    return first;
  }

  /** It was not taken any more when it was renewed or when its method ended. */
  void reportLost() {
    if (lost.count() == 0) {
      return;
    }
    LOG.warn(
        "A method has outlived its claim, so its answer is not kept, and its submission may have run twice: Redis was away for longer than the claim, this process was paused, or the key was reset. A longer claim (@Idempotent.claim, @Duplicate.claim) avoids that");
  }

  /** The duplicate guard of a call: taken for its claim, and kept for its time afterwards. */
  static final class HeldGuard extends HeldSubmission {

    private final Reservation reservation;
    private final Duration time;

    private HeldGuard(
        LimiterTimer timer, LogThrottle lost, Reservation reservation, RuleStack guard) {
      super(timer, lost, guard.claim(), guard.rules().get(0).window());
      this.reservation = reservation;
      this.time = guard.rules().get(0).window();
    }

    /** Renews the guard from now on. */
    static HeldGuard of(
        LimiterTimer timer, LogThrottle lost, Reservation reservation, RuleStack guard) {
      HeldGuard held = new HeldGuard(timer, lost, reservation, guard);
      held.schedule();
      return held;
    }

    @Override
    CompletionStage<Boolean> extend(Duration longer) {
      return reservation.hold(longer).thenApply(units -> units > 0);
    }

    /** Keeps the submission of a call that is over. */
    CompletionStage<Long> keep() {
      return reservation
          .hold(time)
          .thenApply(
              units -> {
                if (units == 0) {
                  reportLost();
                }
                return units;
              });
    }
  }
}
