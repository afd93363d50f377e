// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.core.LimitRequest;
import io.limiter.core.Reservation;
import io.limiter.core.Verdict;
import io.limiter.micronaut.plan.EndpointPart;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.thread.LimiterTimer;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** The concurrency permits of calls, which are renewed while their methods run. */
@Singleton
final class CallsInFlight implements CallPart, EndpointPart {

  private final LimiterTimer timer;
  private final LongAdder kept = new LongAdder();

  CallsInFlight(LimiterTimer timer) {
    this.timer = timer;
  }

  /** How many calls hold permits that this process renews. */
  @Override
  public void meters(Meters meters) {
    meters.gauge("limiter.in.flight", "Calls that hold concurrency permits", kept::sum);
  }

  @Override
  public @Nullable Holder of(LimitPlan plan) {
    return plan.outcomes().decide() ? this::admitted : null;
  }

  private @Nullable CallState admitted(LimitRequest asked, Verdict verdict) {
    Duration time = verdict.reservation().permitDuration().orElse(null);
    if (time == null) {
      return null;
    }
    PermitRenewal permits = new PermitRenewal(timer, time, verdict, kept);
    kept.increment();
    permits.schedule();
    return permits;
  }

  /**
   * The permits of one call. They are not renewed before its method is entered, unless the limiter
   * lets it wait: its client may send the body as slowly as it likes. Nor once the client has its
   * response.
   */
  private static final class PermitRenewal extends Renewal implements CallState {

    /** Until the call ends. */
    private static final Duration ALWAYS = Duration.ofDays(36_500);

    private final Reservation reservation;
    private final LongAdder kept;
    private final long turnNanos; // the System.nanoTime() until which the call waits

    // Guarded by this object.
    private boolean running;
    private boolean due; // a renewal was skipped

    PermitRenewal(LimiterTimer timer, Duration time, Verdict verdict, LongAdder kept) {
      super(timer, time, ALWAYS, kept::decrement);
      this.reservation = verdict.reservation();
      this.kept = kept;
      this.turnNanos = System.nanoTime() + verdict.delay().toNanos();
    }

    @Override
    CompletionStage<Boolean> extend(Duration longer) {
      synchronized (this) {
        due = !running && System.nanoTime() - turnNanos >= 0;
        if (due) {
          return CompletableFuture.completedFuture(true);
        }
      }
      return reservation.renewPermits().thenApply(renewed -> true);
    }

    /** A renewal that was skipped until now runs at once. */
    @Override
    public void entered() {
      synchronized (this) {
        running = true;
        if (!due) {
          return;
        }
        due = false;
      }
      var unused = CompletableFuture.completedFuture(holdTime()).thenCompose(this::extend);
    }

    @Override
    public void outlived() {
      if (end()) {
        kept.decrement();
      }
    }

    @Override
    public boolean lastsUntilWritten() {
      return true;
    }

    @Override
    public CompletionStage<?> over(End end) {
      outlived();
      return LimitedCall.DONE;
    }

    @Override
    void reportLost() {
      kept.decrement();
    }
  }
}
