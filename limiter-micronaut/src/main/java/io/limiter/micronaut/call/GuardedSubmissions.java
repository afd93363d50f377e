// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.core.Reservation;
import io.limiter.core.Verdict;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.plan.DuplicateGuard;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.thread.LimiterTimer;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Flux;

/**
 * The duplicate guards of calls. As a call ends, its guard is released, or kept for its time; one
 * that is claimed for a short time is renewed until then.
 *
 * <p>Only the end of the method ends a guard. The status of a response counts if it comes
 * afterwards. The guard of a call whose method was never entered is always released: nothing was
 * submitted.
 */
@Singleton
final class GuardedSubmissions implements CallPart {

  private static final Logger LOG = LoggerFactory.getLogger(GuardedSubmissions.class);

  private final LimiterTimer timer;
  private final AtomicInteger pending = new AtomicInteger(); // ends that are written again

  GuardedSubmissions(LimiterTimer timer) {
    this.timer = timer;
  }

  /** Before others, so that it sees the stream of the method, and not one that they cut. */
  @Override
  public int getOrder() {
    return HIGHEST_PRECEDENCE;
  }

  @Override
  public @Nullable Holder of(LimitPlan plan) {
    DuplicateGuard guard = plan.duplicates().orElse(null);
    return guard == null
        ? null
        : (asked, verdict) -> new Submission(timer, pending, guard, verdict);
  }

  /** The guard of one call. */
  private static final class Submission implements CallState {

    private final LimiterTimer timer;
    private final AtomicInteger pending;
    private final DuplicateGuard guard;
    private final Reservation reservation;
    private final @Nullable ClaimRenewal claim;

    /** A stream of the method is read: until it ends, the method has not. */
    private volatile boolean streaming;

    Submission(LimiterTimer timer, AtomicInteger pending, DuplicateGuard guard, Verdict verdict) {
      this.timer = timer;
      this.pending = pending;
      this.guard = guard;
      this.reservation = verdict.reservation();
      boolean claimed =
          !guard.stack().claim().isZero()
              && verdict.allowed() // else the method has a parameter for the verdict
              && verdict.duplicate().filter(rule -> !rule.violated()).isPresent();
      this.claim =
          claimed
              ? new ClaimRenewal(timer, guard.stack().claim(), guard.time(), reservation)
              : null;
      if (claim != null) {
        claim.schedule();
      }
    }

    @Override
    public boolean dependsOnStatus() {
      return !guard.release().equals(DuplicateGuard.Release.NEVER);
    }

    @Override
    public Flux<Object> items(Flux<Object> items, Reader reader) {
      return items
          .doOnSubscribe(begun -> streaming = true)
          .doOnTerminate(() -> streaming = false); // if its reader cancels, it may go on
    }

    @Override
    public CompletionStage<?> over(End end) {
      return releases(end) ? release() : keep();
    }

    /** Of a response that did not wait for the method the status does not count. */
    private boolean releases(End end) {
      return switch (end.phase()) {
        case WAITING -> true;
        case RUNNING -> false;
        default ->
            guard.release().after(streaming ? end.withoutResponse() : end.status(), end.threw());
      };
    }

    private CompletionStage<Void> release() {
      if (claim != null) {
        claim.end(); // it is free after its claim, also if that cannot be written
      }
      return write(
          reservation::release,
          claim == null ? guard.time() : claim.holdTime(),
          "A submission could not be released, so its repetition is denied until it is; that is tried again",
          () -> {});
    }

    /** Until the store has that it is kept, the claim is renewed. */
    private CompletionStage<Void> keep() {
      if (claim == null || claim.isOver()) {
        return LimitedCall.DONE;
      }
      return write(
          claim::keep,
          claim.timeToKeep(),
          "A submission could not be kept, so its repetition is denied only while this process renews it; that is tried again",
          claim::end);
    }

    private CompletionStage<Void> write(
        Supplier<CompletionStage<Long>> end, Duration within, String loss, Runnable whenOver) {
      return new WrittenEnd(timer, pending, end, within, loss, whenOver).write();
    }
  }

  /**
   * Renews a guard that is taken for its claim: while its method runs, and until the store has that
   * it is kept for the rest of its time, which began with the call.
   */
  static final class ClaimRenewal extends Renewal {

    private static final LogThrottle LOST = new LogThrottle();

    /** How long it is renewed at most, or for its time, if that is longer. */
    private static final Duration LONGEST_RUN = Duration.ofHours(1);

    private final Reservation reservation;
    private final long untilNanos; // the System.nanoTime() at which its time is over
    private volatile boolean ended; // the method has

    ClaimRenewal(LimiterTimer timer, Duration claim, Duration time, Reservation reservation) {
      super(timer, claim, longer(time, LONGEST_RUN), () -> {});
      this.reservation = reservation;
      this.untilNanos = System.nanoTime() + time.toNanos();
    }

    private static Duration longer(Duration one, Duration other) {
      return one.compareTo(other) > 0 ? one : other;
    }

    private Duration rest() {
      return Duration.ofNanos(untilNanos - System.nanoTime());
    }

    /**
     * A renewal after the end writes the end, unless that frees the guard. The end decides whether
     * it is lost: it may have freed it while a renewal was under way.
     */
    @Override
    CompletionStage<Boolean> extend(Duration longer) {
      if (!ended) {
        return reservation.hold(longer, false).thenApply(units -> units > 0 || ended);
      }
      Duration rest = rest();
      return rest.isNegative()
          ? CompletableFuture.completedFuture(true)
          : reservation.hold(rest, true).thenApply(units -> true);
    }

    /** It was not taken any more when it was renewed or when its method ended. */
    @Override
    void reportLost() {
      if (LOST.count() > 0) {
        LOG.warn(
            "A method has outlived its claim, so its submission may have run twice: Redis was away for longer than the claim, this process was paused, or the key was reset. A longer claim (@Duplicate.claim) avoids that");
      }
    }

    /** How long it is of use to write that it is kept: as long as the store may have the claim. */
    Duration timeToKeep() {
      Duration time = longer(rest(), holdTime());
      renewFor(time);
      return time;
    }

    /** Keeps it for the rest of its time, or frees it, if that is over. */
    CompletionStage<Long> keep() {
      boolean first = !ended;
      ended = true;
      Duration rest = rest();
      return reservation
          .hold(rest, true)
          .thenApply(
              units -> {
                // If a reply was lost, it may have ended by the end of its time meanwhile.
                if (end() && units == 0 && (first || !rest.isNegative())) {
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
