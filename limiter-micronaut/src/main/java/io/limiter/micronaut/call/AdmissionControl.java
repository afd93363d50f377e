// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Verdict;
import io.limiter.micronaut.call.CallPart.Holder;
import io.limiter.micronaut.config.LimiterConfiguration.HeadersConfiguration;
import io.limiter.micronaut.exception.CallAbandonedException;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.thread.CallerThreads;
import io.limiter.micronaut.thread.LimiterTimer;
import io.micronaut.context.annotation.Context;
import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpRequest;
import jakarta.annotation.PreDestroy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Decides calls, of gate and guard alike: selects the part of the plan that applies to the caller,
 * asks the store, reports the verdict, and delays an admitted call until its turn. A waiting call
 * holds no thread, and the store is not asked again. The queues of the rules bound the number of
 * waiting calls.
 */
@Internal
@Context // with the store, at the start: the first request would create it on an event loop
public final class AdmissionControl {

  private static final CallState[] NOTHING = {};

  private final LimitStore store;
  private final CallerPlans callers;
  private final CallerThreads threads;
  private final LimiterTimer timer;
  private final List<CallPart> parts;
  private final Function<LimitPlan, Holder[]> findHolders = this::holders;
  private final List<DenialListener> denials;
  private final List<VerdictListener> verdicts;
  private final LimitWarnings warnings;
  private final double jitter;
  private final Map<LimitedCall, CompletableFuture<Void>> waiting = new ConcurrentHashMap<>();
  private volatile boolean closed;

  AdmissionControl(
      LimitStore store,
      CallerPlans callers,
      CallerThreads threads,
      LimiterTimer timer,
      List<CallPart> parts,
      List<DenialListener> denials,
      List<VerdictListener> verdicts,
      LimitWarnings warnings,
      HeadersConfiguration headers) {
    this.store = store;
    this.callers = callers;
    this.threads = threads;
    this.timer = timer;
    this.parts = List.copyOf(parts);
    this.denials = List.copyOf(denials);
    this.verdicts = List.copyOf(verdicts);
    this.warnings = warnings;
    this.jitter = headers.retryAfterJitter();
  }

  /** The threads to which decisions return. */
  public CallerThreads threads() {
    return threads;
  }

  /** A stream is cut. */
  public void streamCut(Verdict denied) {
    for (VerdictListener listener : verdicts) {
      listener.streamCut(denied);
    }
  }

  /** The gate begins to decide a request. */
  public void arrived(HttpRequest<?> request) {
    for (int i = 0; i < verdicts.size(); i++) {
      verdicts.get(i).arrived(request);
    }
  }

  /**
   * Decides a call. Resumes on the caller's thread, in connection order.
   *
   * @throws RuntimeException if the call has no subject, or if code of the application fails before
   *     the store is asked
   */
  public <T> CompletableFuture<T> admit(ArrivingCall<T> call) {
    CompletableFuture<Verdict> verdict = threads.inOrder(ask(call), call.request(), call.context());
    return call.whole().waits()
        ? verdict.thenCompose(decided -> inTurn(call, decided))
        : verdict.thenApply(decided -> proceedOrDeny(call, conclude(call, decided)));
  }

  /** Decides a call on the thread that makes it, which waits for the decision and for its turn. */
  public <T> T await(ArrivingCall<T> call) {
    String method = call.whole().method();
    // Before anything is taken: a call that cannot be entered here must neither count nor leave a
    // submission in the store.
    threads.requireMayBlock(method);
    CompletionStage<Verdict> asked = ask(call);
    Verdict verdict;
    try {
      verdict = threads.await(asked, method);
    } catch (RuntimeException failure) {
      // The call has ended before its late verdict, so everything that it took is given back.
      if (Thread.currentThread().isInterrupted()) {
        var unused = asked.thenAccept(late -> late.reservation().refund());
      }
      throw failure;
    }
    LimitedCall decided = conclude(call, verdict);
    if (waits(decided)) {
      CompletableFuture<Void> turn = turn(decided, call.request());
      try {
        threads.await(turn, method, decided.verdict().delay());
      } catch (RuntimeException abandoned) {
        abandon(turn); // an interrupt too, even as the turn comes
        decided.on(LimitedCall.Event.Plain.ABANDONED);
        throw abandoned;
      }
    }
    return proceedOrDeny(call, decided);
  }

  /** Asks the store for a verdict on a call, by the part of its plan that applies to it. */
  private CompletionStage<Verdict> ask(ArrivingCall<?> call) {
    LimitPlan undecided = call.undecided();
    if (undecided.isSameForAll()) {
      return ask(call, undecided);
    }
    CompletableFuture<LimitPlan> inTier = callers.inTier(undecided, call.request());
    return inTier.isDone()
        ? ask(call, callers.part(inTier.join(), call))
        : threads
            .resume(inTier, call.request(), call.context())
            .thenCompose(plan -> call.inContext(() -> ask(call, callers.part(plan, call))));
  }

  private CompletionStage<Verdict> ask(ArrivingCall<?> call, LimitPlan plan) {
    Optional<LimitRequest> charges = call.charge(plan);
    if (charges.isEmpty()) {
      return CompletableFuture.completedFuture(Verdict.free(plan.policy()));
    }
    CompletionStage<Verdict> verdict = call.ask(store, charges.get());
    if (verdict == null) {
      throw new IllegalStateException(
          "%s returned null for the decision on %s: let decide() return a stage that completes with a verdict or fails with a StoreException"
              .formatted(store.getClass().getName(), plan.method()));
    }
    return verdict;
  }

  /** Admits or denies a call on this verdict. */
  private LimitedCall conclude(ArrivingCall<?> call, @Nullable Verdict verdict) {
    LimitPlan plan = call.plan();
    if (verdict == null) {
      throw new IllegalStateException("The store returned no verdict on " + plan.method());
    }
    LimitRequest asked = call.asked();
    if (asked == null) {
      LimitedCall uncharged = LimitedCall.uncharged(plan);
      call.decided(uncharged);
      return uncharged;
    }
    for (int i = 0; i < verdicts.size(); i++) {
      verdicts.get(i).decided(call, verdict);
    }
    if (plan.warns()) {
      warnings.decided(plan, asked, verdict);
    }
    Verdict stated = plan.stated(verdict);
    LimitedCall decided =
        plan.admits(verdict)
            ? LimitedCall.admitted(plan, stated, held(plan, asked, stated))
            : LimitedCall.denied(plan, spread(stated));
    call.decided(decided);
    if (decided.isDenied()) {
      for (DenialListener listener : denials) {
        listener.denied(call, asked, decided.verdict());
      }
    }
    return decided;
  }

  /** What an admitted call holds, mostly nothing. */
  private CallState[] held(LimitPlan plan, LimitRequest asked, Verdict verdict) {
    Holder[] holders = plan.attached(findHolders);
    if (holders.length == 0) {
      return NOTHING;
    }
    CallState[] held = new CallState[holders.length];
    int count = 0;
    for (Holder holder : holders) {
      CallState state = holder.admitted(asked, verdict);
      if (state != null) {
        held[count++] = state;
      }
    }
    return count == held.length ? held : Arrays.copyOf(held, count);
  }

  private Holder[] holders(LimitPlan plan) {
    List<Holder> holders = new ArrayList<>();
    for (CallPart part : parts) {
      Holder holder = part.of(plan);
      if (holder != null) {
        holders.add(holder);
      }
    }
    return holders.toArray(Holder[]::new);
  }

  /**
   * Here, so that the header, the body, the exception and the events of a denial state one time.
   */
  private Verdict spread(Verdict denied) {
    if (jitter == 0) {
      return denied;
    }
    double share = jitter * ThreadLocalRandom.current().nextDouble();
    Duration wait = denied.retryAfter().orElse(Duration.ZERO);
    return denied.retriedLater(Duration.ofMillis((long) (share * wait.toMillis())));
  }

  private <T> CompletionStage<T> inTurn(ArrivingCall<T> call, @Nullable Verdict verdict) {
    LimitedCall decided = conclude(call, verdict);
    if (!waits(decided)) {
      return CompletableFuture.completedFuture(proceedOrDeny(call, decided));
    }
    CompletableFuture<Void> turn = turn(decided, call.request());
    call.waits(turn);
    return threads
        .resume(turn, call.request(), call.context())
        .thenApply(now -> proceedOrDeny(call, decided));
  }

  private static boolean waits(LimitedCall decided) {
    return !decided.isDenied() && !decided.verdict().delay().isZero();
  }

  private static <T> T proceedOrDeny(ArrivingCall<T> call, LimitedCall decided) {
    Optional<LimitDeniedException> denial = decided.denial();
    return denial.isPresent() ? call.deny(denial.get()) : call.proceed(decided);
  }

  /**
   * Waits for the turn of an admitted call. If the call is given up meanwhile, its place is free
   * again.
   *
   * @param request the request of the call, whose client waits until it has a response
   * @return completes on the timer's thread; with a {@link CallAbandonedException}, at once and on
   *     any thread, if the client disconnects or the service stops. A caller that detects more
   *     {@linkplain #abandon gives the call up} itself
   */
  private CompletableFuture<Void> turn(LimitedCall call, Optional<HttpRequest<?>> request) {
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

  /** The client does not wait for a call after the response, such as one for a later message. */
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
     * A call is decided. Not called for a call that is charged nothing. The context of the call is
     * not in force.
     */
    void decided(ArrivingCall<?> call, Verdict verdict);

    /** A stream ends before its method ends it, since a step was denied. */
    default void streamCut(Verdict denied) {}
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
     * @param call determines the subject of a source in clear, during this method only. It may fail
     * @param asked what the store was asked, which names the subjects
     * @param verdict under the policy that denies the call
     */
    void denied(ArrivingCall<?> call, LimitRequest asked, Verdict verdict);
  }
}
