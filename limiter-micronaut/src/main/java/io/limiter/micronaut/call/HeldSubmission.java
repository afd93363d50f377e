// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.core.Reservation;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.call.AdmissionControl.Renewals;
import io.limiter.micronaut.thread.LimiterTimer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A submission that is taken for a short time while its method runs. */
abstract class HeldSubmission extends Held {

  private static final Logger LOG = LoggerFactory.getLogger(HeldSubmission.class);

  private final LogThrottle lost;

  /**
   * @param lost bounds the messages about lost ones
   * @param claim how long it is taken without a renewal
   * @param longest how long it is kept afterwards: no method runs for as long
   */
  HeldSubmission(LimiterTimer timer, LogThrottle lost, Duration claim, Duration longest) {
    super(timer, claim, longest, () -> {});
    this.lost = lost;
  }

  /** It was not taken any more when it was renewed or when its method ended. */
  @Override
  void reportLost() {
    if (lost.count() == 0) {
      return;
    }
    LOG.warn(
        "A method has outlived its claim, so its submission may have run twice: Redis was away for longer than the claim, this process was paused, or the key was reset. A longer claim (@Duplicate.claim) avoids that");
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

    /**
     * Keeps the submission of a call that is over for its time from now on. Until the store has
     * that, it is renewed.
     *
     * @return as {@link WrittenEnd#write}
     */
    CompletionStage<Void> keep(Renewals renewals) {
      if (isOver()) {
        return CompletableFuture.completedFuture(null);
      }
      renewFor(time);
      long endNanos = System.nanoTime();
      return renewals.end(
          () -> keepSince(endNanos),
          time,
          "A submission could not be kept, so its repetition is denied only while this process renews it; that is tried again",
          this::end);
    }

    private CompletionStage<Long> keepSince(long endNanos) {
      return isOver() // a renewal has found that it is lost
          ? CompletableFuture.completedFuture(0L)
          : reservation
              .hold(time.minusNanos(System.nanoTime() - endNanos))
              .thenApply(
                  units -> {
                    if (end() && units == 0) {
                      reportLost();
                    }
                    return units;
                  });
    }
  }

  /**
   * How a submission ends. It is written with growing pauses until the store has it, or it is of no
   * use any more. To write it twice changes nothing.
   */
  static final class WrittenEnd {

    /** The most ends that are written again at a time; further ones are written once. */
    static final int MOST = 10_000;

    private static final Duration FIRST_PAUSE = Duration.ofMillis(100);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(30);
    private static final int MOST_DOUBLINGS = 10; // more than enough for the longest pause
    private static final LogThrottle GIVEN_UP = new LogThrottle();

    private final LimiterTimer timer;
    private final AtomicInteger pending;
    private final Supplier<CompletionStage<Long>> end;
    private final long untilNanos;
    private final String loss;
    private final Runnable whenOver;
    private int failures; // of one write after the other

    /**
     * @param pending how many ends are written again
     * @param end completes normally once the store has it, or cannot have it any more
     * @param within how long it is of use
     * @param loss what it means that a write has failed, for the log
     * @param whenOver runs once it is not written any more
     */
    WrittenEnd(
        LimiterTimer timer,
        AtomicInteger pending,
        Supplier<CompletionStage<Long>> end,
        Duration within,
        String loss,
        Runnable whenOver) {
      this.timer = timer;
      this.pending = pending;
      this.end = end;
      this.untilNanos = System.nanoTime() + within.toNanos();
      this.loss = loss;
      this.whenOver = whenOver;
    }

    /**
     * Returns a stage that completes when the store has answered the first write, and never fails:
     * further ones run behind it.
     */
    CompletionStage<Void> write() {
      return CompletableFuture.completedFuture(end)
          .thenCompose(Supplier::get) // a reservation may be the application's, and throw
          .handle(
              (units, failure) -> {
                if (failure == null) {
                  over();
                } else {
                  again(failure);
                }
                return null;
              });
    }

    private void again(Throwable failure) {
      long pause = FIRST_PAUSE.toNanos() << Math.min(failures, MOST_DOUBLINGS);
      pause = Math.min(pause, LONGEST_PAUSE.toNanos());
      failures++;
      if (failures == 1) {
        LimitedCall.FAILURES.report(LimitedCall.LOG, loss, failure);
        pending.incrementAndGet();
      }
      if (pending.get() > MOST || System.nanoTime() + pause - untilNanos >= 0) {
        GIVEN_UP.report(LOG, "The end of a submission was not written in its time", failure);
        over();
      } else {
        var unused = timer.schedule(this::write, pause);
      }
    }

    private void over() {
      if (failures > 0) {
        pending.decrementAndGet();
      }
      whenOver.run();
    }
  }
}
