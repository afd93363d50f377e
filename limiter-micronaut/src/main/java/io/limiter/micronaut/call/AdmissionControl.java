// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.core.LimitRequest;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
import io.limiter.micronaut.exception.CallAbandonedException;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.subject.SubjectSource;
import io.limiter.micronaut.thread.CallerThreads;
import io.limiter.micronaut.thread.LimiterTimer;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.propagation.PropagatedContext;
import io.micronaut.http.HttpRequest;
import jakarta.annotation.PreDestroy;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What gate and guard have in common: asks the store, denies or admits a call, and lets an admitted
 * call wait for its turn. A waiting call holds no thread, and the store is not asked again. As many
 * calls wait as the queues of the rules have room for.
 */
@Internal
@Singleton
public final class AdmissionControl {

  private final LimitStore store;
  private final CallerThreads threads;
  private final LimiterTimer timer;
  private final PermitRenewal permits;
  private final List<DenialListener> denials;
  private final List<VerdictListener> verdicts;
  private final Map<LimitedCall, CompletableFuture<Void>> waiting = new ConcurrentHashMap<>();
  private volatile boolean closed;

  @Inject
  AdmissionControl(
      LimitStore store,
      CallerThreads threads,
      LimiterTimer timer,
      List<DenialListener> denials,
      List<VerdictListener> verdicts) {
    this(store, threads, timer, new PermitRenewal(timer), denials, verdicts);
  }

  private AdmissionControl(
      LimitStore store,
      CallerThreads threads,
      LimiterTimer timer,
      PermitRenewal permits,
      List<DenialListener> denials,
      List<VerdictListener> verdicts) {
    this.store = store;
    this.threads = threads;
    this.timer = timer;
    this.permits = permits;
    this.denials = List.copyOf(denials);
    this.verdicts = List.copyOf(verdicts);
  }

  /** The same for another store and other threads, of a warm-up: its verdicts are not reported. */
  public AdmissionControl with(LimitStore otherStore, CallerThreads otherThreads) {
    return new AdmissionControl(otherStore, otherThreads, timer, permits, List.of(), List.of());
  }

  /** The threads to which its decisions return. */
  public CallerThreads threads() {
    return threads;
  }

  /** The gate begins to decide a request. */
  public void arrived(HttpRequest<?> request) {
    for (int i = 0; i < verdicts.size(); i++) {
      verdicts.get(i).arrived(request);
    }
  }

  /**
   * Asks the store for a verdict on a call of this plan's method.
   *
   * @throws IllegalStateException if the store, which may be the application's, returns null
   */
  public CompletionStage<Verdict> ask(LimitRequest request, LimitPlan plan) {
    CompletionStage<Verdict> stage = store.decide(request, Mode.ACQUIRE);
    if (stage == null) {
      throw new IllegalStateException(
          "%s returned null for the decision on %s: let decide() return a stage that completes with a verdict or fails with a StoreException"
              .formatted(store.getClass().getName(), plan.method()));
    }
    return stage;
  }

  /**
   * The denial that follows from a verdict; empty if the call may enter its method.
   *
   * @param asked what the store was asked; null if nothing was
   * @param route the request, if the method is its own route: its response will show the denial
   * @param context that of the call, for listeners
   * @param who finds the subject of a source, for listeners; null if nothing was asked
   */
  public Optional<LimitDeniedException> denial(
      @Nullable Verdict verdict,
      LimitPlan plan,
      @Nullable LimitRequest asked,
      @Nullable Function<SubjectSource, Subject> who,
      Optional<HttpRequest<?>> route,
      PropagatedContext context) {
    if (verdict == null) {
      throw new IllegalStateException("The store returned no verdict on " + plan.method());
    }
    for (int i = 0; i < verdicts.size(); i++) {
      verdicts.get(i).decided(plan, verdict, context);
    }
    if (plan.admits(verdict)) {
      return Optional.empty();
    }
    Verdict named = plan.named(verdict);
    if (route.isPresent()) {
      var unused = LimitedCall.denied(plan, named).atGuard(route.get());
    }
    if (asked != null && who != null) {
      denials.forEach(listener -> listener.denied(plan, asked, named, who));
    }
    return Optional.of(LimitDeniedException.of(named, plan.text(named)));
  }

  /** The call that the gate admits on this verdict. The guard finds it on the request. */
  public LimitedCall admitAtGate(Verdict verdict, LimitPlan plan, HttpRequest<?> request) {
    return LimitedCall.admitted(plan, verdict, permits).atGate(request);
  }

  /** The same for a request that is charged nothing, so that no store is asked. */
  public static LimitedCall admitUncharged(LimitPlan plan, HttpRequest<?> request) {
    return LimitedCall.uncharged(plan).atGate(request);
  }

  /**
   * The call that the guard admits on this verdict.
   *
   * @param route the request, if the method is its own route
   */
  public LimitedCall admit(Verdict verdict, LimitPlan plan, Optional<HttpRequest<?>> route) {
    LimitedCall call = LimitedCall.admitted(plan, verdict, permits);
    return route.isPresent() ? call.atGuard(route.get()) : call;
  }

  /**
   * Waits for the turn of an admitted call. If the call is given up meanwhile, its place is free
   * again.
   *
   * @param request in whose name the call is made: its client waits until it has a response
   * @return completes on the timer's thread; with a {@link CallAbandonedException}, at once and on
   *     any thread, if the client disconnects or the service stops. A caller that knows more
   *     {@linkplain #abandon gives the call up} itself
   */
  public CompletableFuture<Void> turn(LimitedCall call, Optional<HttpRequest<?>> request) {
    CompletableFuture<Void> turn = new CompletableFuture<>();
    waiting.put(call, turn);
    Future<?> due = timer.schedule(() -> turn.complete(null), call.verdict().delay().toNanos());
    Runnable forget = threads.onGone(request, () -> abandonUnlessAnswered(request, turn));
    var unused =
        turn.whenComplete(
            (now, abandoned) -> {
              waiting.remove(call);
              due.cancel(false);
              forget.run();
              if (abandoned != null) {
                call.on(LimitedCall.Event.Plain.ABANDONED);
              }
            });
    if (closed) { // close() may have missed it
      abandon(turn);
    }
    return turn;
  }

  /** A call after the response, such as for a message that is sent later, is not the client's. */
  private static void abandonUnlessAnswered(
      Optional<HttpRequest<?>> request, CompletableFuture<Void> turn) {
    if (request.filter(LimitedCall::isAnswered).isEmpty()) {
      abandon(turn);
    }
  }

  /** Gives up a call that waits for its turn. */
  public static void abandon(CompletableFuture<Void> turn) {
    turn.completeExceptionally(new CallAbandonedException());
  }

  /** How many calls hold permits of concurrency limits that this process renews. */
  public long inFlight() {
    return permits.kept();
  }

  /** How many calls wait for their turn in this process. */
  public int waiting() {
    return waiting.size();
  }

  @PreDestroy
  void close() {
    closed = true;
    waiting.values().forEach(AdmissionControl::abandon);
  }

  /**
   * Receives each verdict of gate and guard. Runs on the thread to which the decision returns,
   * often an event loop: it must not block or throw.
   */
  @Internal
  public interface VerdictListener {

    /** The gate begins to decide a request. */
    default void arrived(HttpRequest<?> request) {}

    /**
     * A call is decided. Not called for a call that is charged nothing at the gate.
     *
     * @param context that of the call, which is not in force
     */
    void decided(LimitPlan plan, Verdict verdict, PropagatedContext context);
  }

  /**
   * Receives each call that gate or guard denies. Runs on the thread that denies it, often an event
   * loop: it must not block or throw.
   */
  @Internal
  public interface DenialListener {

    /**
     * A call is denied: its method is not entered.
     *
     * @param asked what the store was asked, which names the subjects
     * @param who finds the subject of a source in clear; during this call only. It may fail
     */
    void denied(
        LimitPlan plan, LimitRequest asked, Verdict verdict, Function<SubjectSource, Subject> who);
  }

  /**
   * Renews the concurrency permits of all running calls, each after a third of its time limit: two
   * renewals may be lost before a permit expires. It refers to a call weakly, so that a call that
   * the application has dropped is not renewed for ever. The permit of a call whose method is not
   * entered yet is not renewed either: its client may send the body as slowly as it likes.
   */
  static final class PermitRenewal {

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

      private synchronized void schedule(long delayNanos) {
        int now = round;
        next = timer.schedule(() -> run(now), delayNanos);
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
}
