// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.Verdict;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.store.LimitStore;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.call.AdmissionControl.Renewals;
import io.limiter.micronaut.call.Held.HeldPermits;
import io.limiter.micronaut.call.HeldSubmission.HeldGuard;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.plan.CallValues;
import io.limiter.micronaut.plan.CompletionPlan;
import io.limiter.micronaut.plan.CountedAnswers;
import io.limiter.micronaut.plan.DuplicateGuard;
import io.limiter.micronaut.plan.LimitPlan;
import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpRequest;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One call of a limited method, from its verdict to its completion. {@link AdmissionControl} makes
 * it; the package description draws its states. It reports the completion to the store and releases
 * the duplicate guard, each once, at the first {@link Event} that decides it. While the method runs
 * its concurrency permits are renewed.
 *
 * <p>The call of a request's own route is an attribute of that request: the gate leaves it there
 * for the guard, which enters the method once on it, and the response filters read its verdict.
 *
 * <p>A call that has its response while its method still runs, because a filter did not wait for
 * the method, keeps its permit until the method returns. The permit is not renewed any more.
 *
 * <p>Only the end of the method ends the duplicate guard. The status of a response counts if it
 * comes afterwards. The guard of a call whose method was never entered is always released: nothing
 * was submitted.
 */
@Internal
public final class LimitedCall {

  static final Logger LOG = LoggerFactory.getLogger(LimitedCall.class);
  static final LogThrottle FAILURES = new LogThrottle();
  private static final LogThrottle UNPAID = new LogThrottle();

  private static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);

  private static final String ATTRIBUTE = "io.limiter.call";
  private static final String ANSWERED = "io.limiter.answered";

  private static final int OK = 200;

  /** No response was seen. */
  private static final int NO_STATUS = 0;

  /** The request is over, and its response was not seen. */
  private static final int UNSEEN = -1;

  private enum Phase {
    WAITING,
    RUNNING,
    RETURNED,
    THREW
  }

  /** An observation that may complete a call. */
  public sealed interface Event {

    /** The method has returned this result. Completes the call unless its response does. */
    record Returned(@Nullable Object result) implements Event {}

    /** The client receives a response of this status. */
    record Answered(int status) implements Event {}

    /** The events without data. */
    enum Plain implements Event {
      /** The method has thrown, or its result has failed. As {@link Returned} otherwise. */
      THREW,
      /** The call is over, and no response has its status: an exception counts as 500. */
      OVER,
      /** The caller no longer waits for the result. A response in progress still counts. */
      CANCELLED,
      /** The call is given up before its method is entered, or while its result is streamed. */
      ABANDONED,
      /** The request is over: its response was written, or cannot be written any more. */
      REQUEST_OVER
    }
  }

  private final LimitPlan plan;
  private final Verdict verdict;
  private final @Nullable LimitDeniedException denial;
  private final @Nullable Renewals renewals; // if it completes
  private final boolean completes; // whether its completion makes a difference
  private final long turnNanos; // the System.nanoTime() until which it waits, if it completes
  private volatile @Nullable LimitedCall byResponse; // the call that the response completes
  private volatile @Nullable LimitedCall early; // what the gate had decided before

  // Guarded by this object.
  private boolean taken;
  private boolean completed;
  private boolean streaming; // a stream of its method is read
  private Phase phase = Phase.WAITING;
  private int status = NO_STATUS; // of a response that did not wait for the method
  private Map<RuleStack, Integer> costs = Map.of();

  // What its answer is read with, guarded likewise.
  private @Nullable Object result;
  private @Nullable CallValues values;

  private volatile @Nullable HeldPermits permits; // if it holds some
  private volatile @Nullable StreamedCost streamed; // written once, as it is admitted
  private volatile boolean isStream; // its result, or what is in it
  private volatile @Nullable HeldGuard submission; // if it is claimed

  private LimitedCall(
      LimitPlan plan,
      Verdict verdict,
      @Nullable LimitDeniedException denial,
      @Nullable Renewals renewals) {
    this.plan = plan;
    this.verdict = verdict;
    this.denial = denial;
    this.renewals = renewals;
    this.completes = renewals != null;
    this.completed = !completes;
    this.turnNanos = completes ? System.nanoTime() + verdict.delay().toNanos() : 0;
  }

  /** A call that is charged nothing. */
  public static LimitedCall uncharged(LimitPlan plan) {
    return new LimitedCall(plan, Verdict.free(plan.policy()), null, null);
  }

  static LimitedCall admitted(
      LimitPlan plan, LimitRequest asked, Verdict verdict, LimitStore store, Renewals renewals) {
    LimitedCall call =
        new LimitedCall(plan, verdict, null, plan.countsByCompletion() ? renewals : null);
    if (call.completes && plan.outcomes().decide()) {
      if (plan.outcomes().stream() != null) {
        call.streamed = StreamedCost.of(store, plan, asked, verdict);
      }
      verdict
          .reservation()
          .permitDuration()
          .ifPresent(time -> call.permits = renewals.keep(call, time));
    }
    RuleStack claimed = plan.claimed();
    if (claimed != null
        && verdict.allowed() // else the method has a parameter for the verdict
        && verdict.duplicate().filter(guard -> !guard.violated()).isPresent()) {
      call.submission = renewals.hold(verdict, claimed);
    }
    return call;
  }

  /** A call that is denied, under the policy that denies it. */
  static LimitedCall denied(LimitPlan plan, Verdict verdict) {
    Verdict named = plan.named(verdict);
    return new LimitedCall(plan, named, LimitDeniedException.of(named, plan.text(named)), null);
  }

  /** The gate has admitted a request: the guard may enter its method once. */
  public void atGate(HttpRequest<?> request) {
    byResponse = this;
    request.setAttribute(ATTRIBUTE, this);
  }

  /**
   * The guard has decided on a request's own route, or the gate has denied it. A route may call
   * itself: then the response completes the first call, and the guard the others.
   */
  public void atGuard(HttpRequest<?> request) {
    Optional<LimitedCall> before = of(request).flatMap(LimitedCall::completedByResponse);
    byResponse =
        before.isPresent() && !before.get().isOver() ? before.get() : isDenied() ? null : this;
    taken = true;
    request.setAttribute(ATTRIBUTE, this);
  }

  /**
   * The guard has decided what the gate had left after an early decision. The units of that one are
   * given back if this call is denied.
   */
  public void decidedAfter(LimitedCall atGate) {
    early = atGate;
    if (isDenied()) {
      var unused =
          attempt(
              atGate.verdict.reservation()::refund,
              "The early units of a denied call could not be given back, so they stay taken until they expire");
    }
  }

  /** Whether it is decided by the early part of its plan only. */
  public boolean isEarly() {
    return plan.isEarly();
  }

  /** The verdict for the header fields of a response: with that of an early decision. */
  public Verdict stated() {
    LimitedCall atGate = early;
    return atGate == null || isDenied()
        ? verdict
        : atGate.verdict.and(verdict, atGate.plan.policyWith(plan));
  }

  /** The latest decision on the route of a request. */
  public static Optional<LimitedCall> of(HttpRequest<?> request) {
    // Without conversion: only this class writes the attribute.
    return request.getAttribute(ATTRIBUTE).orElse(null) instanceof LimitedCall call
        ? Optional.of(call)
        : Optional.empty();
  }

  /**
   * The call that the gate admitted by this plan, or by the early part of it, unless the guard has
   * entered it already.
   */
  public static Optional<LimitedCall> take(HttpRequest<?> request, LimitPlan plan) {
    Optional<LimitedCall> call = of(request);
    return call.isPresent()
            && !isAnswered(request)
            && (call.get().plan.equals(plan) || call.get().plan.isEarlyPartOf(plan))
            && call.get().take()
        ? call
        : Optional.empty();
  }

  private synchronized boolean take() {
    boolean first = !taken;
    taken = true;
    return first;
  }

  /**
   * The request has its response. Later calls in its name, such as those for the messages of a
   * WebSocket, do not belong to it.
   */
  public static void answered(HttpRequest<?> request) {
    request.setAttribute(ANSWERED, true);
  }

  /** Whether the request has its response. */
  public static boolean isAnswered(HttpRequest<?> request) {
    return request.getAttribute(ANSWERED).isPresent();
  }

  public Verdict verdict() {
    return verdict;
  }

  /** What its stream costs; null if it has no items that cost anything. */
  public @Nullable StreamedCost streamed() {
    return streamed;
  }

  /**
   * Its result is a stream, or has one in it: the cost is that of its items. If these can have
   * none, that is logged, and the estimate stays.
   */
  public void streams() {
    StreamedCost stream = streamed;
    if (stream != null) {
      stream.begin();
    } else if (plan.outcomes().stream() == null && !plan.outcomes().costs().isEmpty()) {
      long times = UNPAID.count();
      if (times > 0) {
        LOG.warn(
            "{} has returned a stream, whose items cost nothing beside the estimate, since its type does not show that or its rules count by outcome: return a Publisher, and move such rules to a @RateLimiter with a name of its own. Occurrences since the last message: {}",
            plan.method(),
            times);
      }
    }
    isStream = true;
  }

  /** Whether its result is a stream, or has one in it. */
  public boolean isStream() {
    return isStream;
  }

  /** Whether its plan counts users, or that of the early decision. */
  public boolean countsUsers() {
    LimitedCall atGate = early;
    return plan.countsUsers() || (atGate != null && atGate.plan.countsUsers());
  }

  /** Whether the call was denied, so that its method is not entered. */
  public boolean isDenied() {
    return denial != null;
  }

  /** Why the call is denied; empty if it is admitted. */
  Optional<LimitDeniedException> denial() {
    return Optional.ofNullable(denial);
  }

  /** The call that the response of the request completes; empty if there is none. */
  public Optional<LimitedCall> completedByResponse() {
    return Optional.ofNullable(byResponse);
  }

  /** Whether a response follows that completes this call. */
  public boolean hasResponse() {
    return byResponse == this;
  }

  /** The guard completes this call: its method runs longer than its response takes. */
  public void detach() {
    if (hasResponse()) {
      byResponse = null;
    }
  }

  /** Whether its completion still depends on the status of the response. */
  public boolean dependsOnStatus() {
    return !isOver()
        && (plan.outcomes().byStatus() || !plan.release().equals(DuplicateGuard.Release.NEVER));
  }

  /** Whether its completion is reported, or makes no difference. */
  public synchronized boolean isOver() {
    return completed;
  }

  /** Whether it holds permits until it ends. */
  public boolean isInFlight() {
    return permits != null && !isOver();
  }

  /** Whether it holds permits that may have to be renewed: not once it is over or answered. */
  synchronized boolean holdsPermits() {
    return !completed && status == NO_STATUS;
  }

  /** Whether they are to be renewed now: while the method runs, or the limiter lets it wait. */
  synchronized boolean renewsPermits() {
    return phase != Phase.WAITING || System.nanoTime() - turnNanos < 0;
  }

  CompletionStage<?> renewPermits() {
    try {
      return verdict.reservation().renewPermits();
    } catch (Throwable broken) { // a reservation may be the application's
      return CompletableFuture.failedFuture(broken);
    }
  }

  /**
   * The method begins: from here on a call whose completion is not observed may have done anything.
   *
   * @return whether it may; not if the call was abandoned
   */
  public boolean enter() {
    if (!completes) {
      return true;
    }
    synchronized (this) {
      if (completed) {
        return false;
      }
      phase = Phase.RUNNING;
    }
    renewNow();
    return true;
  }

  private void renewNow() {
    HeldPermits held = permits;
    if (held != null) {
      held.entered();
    }
  }

  /**
   * No guard takes the call over where its method begins, so only its response shows how it ends.
   * From here on it counts as made.
   */
  public void passGate() {
    if (!completes || !take()) {
      return;
    }
    synchronized (this) {
      if (completed) {
        return;
      }
      phase = Phase.RETURNED;
    }
    renewNow();
  }

  /** The connection was closed before the whole request had arrived: the method never begins. */
  public void cutOff() {
    if (take()) {
      on(Event.Plain.ABANDONED);
    }
  }

  /**
   * Records an event, and completes the call if the event decides that. Events after the completion
   * are ignored.
   *
   * @return completes when the store has answered; never fails, since what could not be given back
   *     expires
   */
  public CompletionStage<Void> on(Event event) {
    if (!completes) {
      return DONE;
    }
    if (event instanceof Event.Answered answer) {
      return answered(answer.status(), false);
    }
    if (event instanceof Event.Returned returned) {
      Map<RuleStack, Integer> actual =
          isOver() || isStream ? Map.of() : plan.outcomes().actual(returned.result());
      synchronized (this) {
        costs = actual;
        result = readsAnswer() ? returned.result() : null;
      }
      return left(Phase.RETURNED);
    }
    return switch ((Event.Plain) event) {
      case THREW -> left(Phase.THREW);
      case OVER -> over();
      case ABANDONED -> unseen();
      case CANCELLED -> responds() ? DONE : unseen();
      case REQUEST_OVER -> isRunningBehindResponse() ? DONE : unseen();
    };
  }

  /** The method is over. If a response did not wait for it, or there is none, so is the call. */
  private CompletionStage<Void> left(Phase how) {
    int before;
    synchronized (this) {
      if (completed) {
        return DONE;
      }
      phase = how;
      before = status;
    }
    if (before == NO_STATUS) {
      return hasResponse() ? DONE : over();
    }
    return before == UNSEEN ? unseen() : answered(before, true);
  }

  /** Whether equal calls are duplicates of it. */
  public boolean hasGuard() {
    return !plan.guardTime().isZero();
  }

  /** A stream of the method is read from here on: until it ends, the method has not. */
  public synchronized void streamBegins() {
    streaming = true;
  }

  public synchronized void streamEnds() {
    streaming = false;
  }

  private CompletionStage<Void> over() {
    boolean threw;
    synchronized (this) {
      threw = phase == Phase.THREW;
    }
    return answered(threw ? DuplicateGuard.Release.FAILURE : OK, false);
  }

  private synchronized boolean responds() {
    return hasResponse() && (phase == Phase.RETURNED || phase == Phase.THREW);
  }

  private synchronized boolean isRunningBehindResponse() {
    boolean running = phase == Phase.RUNNING && !completed;
    if (running && status == NO_STATUS) {
      status = UNSEEN;
    }
    return running;
  }

  /** Whether its answer decides if it counts. */
  public boolean readsAnswer() {
    return !plan.outcomes().counted().isEmpty();
  }

  /** Its method begins with these arguments, which its answer is read with. */
  public synchronized void enterWith(CallValues arguments) {
    values = arguments;
  }

  private Map<CountedAnswers, Boolean> counted(int status) {
    Object returned;
    CallValues with;
    synchronized (this) {
      if (completed || phase == Phase.RUNNING) {
        return Map.of();
      }
      returned = result;
      with = values;
    }
    Map<CountedAnswers, Boolean> counted = new HashMap<>();
    for (CountedAnswers each : plan.outcomes().counted()) {
      counted.put(each, each.count(status, returned, with));
    }
    return counted;
  }

  /**
   * @param early whether the response came before the end of the method
   */
  private CompletionStage<Void> answered(int status, boolean early) {
    // Outside of the lock, since it is code of the application.
    Map<CountedAnswers, Boolean> counted = readsAnswer() ? counted(status) : Map.of();
    boolean release;
    Completion completion = null;
    synchronized (this) {
      if (completed) {
        return DONE;
      }
      boolean threw = phase == Phase.THREW;
      release = phase == Phase.WAITING || releases(status, early || streaming);
      if (phase == Phase.RUNNING) {
        this.status = status;
      } else {
        completed = true;
        completion = plan.outcomes().completion(status, threw, costs(), counted);
      }
    }
    return completion == null ? endPermits() : complete(completion, release);
  }

  /**
   * Whether the end of the method releases the submission. Of a response that did not wait for it
   * the status does not count: then an exception is a failure, and anything else is none.
   */
  private boolean releases(int status, boolean early) {
    boolean threw = phase == Phase.THREW;
    int end = !early ? status : threw ? DuplicateGuard.Release.FAILURE : OK;
    return phase != Phase.RUNNING && plan.release().after(end, threw);
  }

  /** What the call has cost, as far as that is known; of a stream, what was sent. */
  private Map<RuleStack, Integer> costs() {
    StreamedCost stream = streamed;
    return stream == null || !stream.hasBegun() || phase == Phase.WAITING ? costs : stream.end();
  }

  /** How the call ended was not observed. */
  private CompletionStage<Void> unseen() {
    boolean entered;
    boolean release;
    Map<RuleStack, Integer> actual;
    synchronized (this) { // it has entered, or never will
      if (completed) {
        return DONE;
      }
      completed = true;
      entered = phase != Phase.WAITING;
      release = !entered || releases(OK, true);
      actual = streamed == null || !streamed.hasBegun() ? Map.of() : costs();
    }
    return complete(CompletionPlan.unseen(entered, actual), release);
  }

  /** The permits are not renewed any more. */
  private CompletionStage<Void> endPermits() {
    HeldPermits kept = permits;
    if (kept != null) {
      kept.over();
    }
    return DONE;
  }

  /** The only place that ends a call. */
  private CompletionStage<Void> complete(Completion completion, boolean release) {
    var unused = endPermits();
    CompletionStage<Void> guard = release ? release() : keep();
    if (!plan.outcomes().decide()) {
      return guard;
    }
    CompletionStage<Void> settled =
        attempt(
                () -> verdict.reservation().settle(completion),
                "A call could not be settled, so its units stay taken until they expire")
            .thenCombine(guard, (units, submission) -> null);
    StreamedCost stream = streamed;
    return stream == null ? settled : settled.thenCombine(stream.settle(), (call, steps) -> null);
  }

  private CompletionStage<Void> release() {
    Renewals ends = renewals;
    HeldGuard held = submission;
    if (held != null) {
      held.end(); // it is free after its claim, also if that cannot be written
    }
    return ends == null
        ? DONE
        : ends.end(
            verdict.reservation()::release,
            held == null ? plan.guardTime() : held.holdTime(),
            "A submission could not be released, so its repetition is denied until it is; that is tried again",
            () -> {});
  }

  private CompletionStage<Void> keep() {
    HeldGuard held = submission;
    Renewals ends = renewals;
    return held == null || ends == null ? DONE : held.keep(ends);
  }

  /** Changes what a call has taken. If that fails, the call goes on, and the loss is logged. */
  static CompletionStage<Void> attempt(Supplier<CompletionStage<Long>> action, String loss) {
    CompletionStage<Long> stage;
    try {
      stage = action.get();
    } catch (Throwable broken) { // a reservation may be the application's
      FAILURES.report(LOG, loss, broken);
      return DONE;
    }
    return reported(stage, loss);
  }

  static CompletionStage<Void> reported(CompletionStage<?> stage, String loss) {
    return stage.handle(
        (done, failure) -> {
          if (failure != null) {
            FAILURES.report(LOG, loss, failure);
          }
          return null;
        });
  }
}
