// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.core.Completion;
import io.limiter.core.Verdict;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.call.CallState.End;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.plan.CallValues;
import io.limiter.micronaut.plan.CompletionPlan;
import io.limiter.micronaut.plan.CountedAnswers;
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
import org.reactivestreams.Publisher;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Flux;

/**
 * One call of a limited method, from its verdict to its completion. {@link AdmissionControl} makes
 * it; the package description draws its phases. It settles its units and ends what it holds, its
 * {@link CallState}s, each once, at the first {@link Event} that decides it.
 *
 * <p>The call of a request's own route is an attribute of that request: the gate leaves it there
 * for the guard, which enters the method once on it, and the response filters read its verdict.
 *
 * <p>A call that has its response while its method still runs, because a filter did not wait for
 * the method, lasts until the method returns.
 */
@Internal
public final class LimitedCall {

  static final Logger LOG = LoggerFactory.getLogger(LimitedCall.class);
  static final LogThrottle FAILURES = new LogThrottle();
  private static final LogThrottle UNPAID = new LogThrottle();

  static final CompletionStage<Void> DONE = CompletableFuture.completedFuture(null);

  private static final CallState[] NOTHING = {};

  private static final String ATTRIBUTE = "io.limiter.call";
  private static final String ANSWERED = "io.limiter.answered";

  /** No response was seen. */
  private static final int NO_STATUS = 0;

  /** The request is over, and its response was not seen. */
  private static final int UNSEEN = -1;

  /** Where a call is on its way. */
  public enum Phase {
    /** Its method has not begun: it waits for its turn, its body or its thread. */
    WAITING,
    /** Its method runs. */
    RUNNING,
    /** Its method has returned, or is not observed; its response may follow. */
    RETURNED,
    /** Its method has thrown, or its result has failed; its response may follow. */
    THREW,
    /** Its completion is reported, or makes no difference. */
    OVER
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
  private final CallState[] states; // what it holds
  private final @Nullable CallAnswer answer; // if something depends on it
  private final boolean completes; // whether its completion makes a difference
  private volatile @Nullable LimitedCall byResponse; // the call that the response completes
  private volatile @Nullable LimitedCall early; // what the gate had decided before
  private volatile boolean stream; // its result is one, or has one in it

  // Guarded by this object.
  private boolean claimed; // the guard has taken it over, or no guard will
  private Phase phase;
  private int status = NO_STATUS; // of a response that did not wait for the method

  /**
   * @param outcomes null if its completion makes no difference
   */
  private LimitedCall(
      LimitPlan plan,
      Verdict verdict,
      @Nullable LimitDeniedException denial,
      CallState[] states,
      @Nullable CompletionPlan outcomes) {
    this.plan = plan;
    this.verdict = verdict;
    this.denial = denial;
    this.states = states;
    this.answer = outcomes == null ? null : CallAnswer.of(outcomes);
    this.completes = outcomes != null && (outcomes.decide() || states.length > 0);
    this.phase = completes ? Phase.WAITING : Phase.OVER;
  }

  /** A call that is charged nothing. */
  public static LimitedCall uncharged(LimitPlan plan) {
    return new LimitedCall(plan, Verdict.free(plan.policy()), null, NOTHING, null);
  }

  /**
   * @param states what it holds
   */
  static LimitedCall admitted(LimitPlan plan, Verdict verdict, CallState... states) {
    return new LimitedCall(
        plan, verdict, null, states, plan.countsByCompletion() ? plan.outcomes() : null);
  }

  /** A call that is denied, under the policy that denies it. */
  static LimitedCall denied(LimitPlan plan, Verdict verdict) {
    Verdict named = plan.named(verdict);
    LimitDeniedException denial = LimitDeniedException.of(named, plan.text(named));
    return new LimitedCall(plan, named, denial, NOTHING, null);
  }

  /** The gate has admitted a request: the guard may enter its method once. */
  public void attachTo(HttpRequest<?> request) {
    byResponse = this;
    request.setAttribute(ATTRIBUTE, this);
  }

  /**
   * The guard has decided on a request's own route, or the gate has denied it. A route may call
   * itself: then the response completes the first call, and the guard the others.
   */
  public void replaceOn(HttpRequest<?> request) {
    Optional<LimitedCall> before = of(request).flatMap(LimitedCall::completedByResponse);
    byResponse =
        before.isPresent() && !before.get().isOver() ? before.get() : isDenied() ? null : this;
    claimed = true;
    request.setAttribute(ATTRIBUTE, this);
  }

  /**
   * The guard has decided what the gate had left after an early decision. The units of that one are
   * given back if this call is denied.
   */
  public void follows(LimitedCall atGate) {
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
  public static Optional<LimitedCall> claim(HttpRequest<?> request, LimitPlan plan) {
    Optional<LimitedCall> call = of(request);
    return call.isPresent()
            && !isAnswered(request)
            && (call.get().plan.equals(plan) || call.get().plan.isEarlyPartOf(plan))
            && call.get().claim()
        ? call
        : Optional.empty();
  }

  private synchronized boolean claim() {
    boolean first = !claimed;
    claimed = true;
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

  /** Whether each item of a stream in its result is paid for before it is sent. */
  public boolean chargesItems() {
    for (CallState state : states) {
      if (state.chargesItems()) {
        return true;
      }
    }
    return false;
  }

  /**
   * Its result is a stream, or has one in it: the cost is that of its items. If these can have
   * none, that is logged, and the estimate stays.
   */
  public void streams() {
    stream = true;
    if (!plan.outcomes().streams() && !plan.outcomes().costs().isEmpty()) {
      long times = UNPAID.count();
      if (times > 0) {
        LOG.warn(
            "{} has returned a stream, whose items cost nothing beside the estimate, since its type does not show that or its rules count by outcome: return a Publisher, and move such rules to a @RateLimiter with a name of its own. Occurrences since the last message: {}",
            plan.method(),
            times);
      }
    }
  }

  /** The items of a stream that it returns, as what it holds observes or withholds them. */
  public Flux<Object> items(Publisher<?> stream, CallState.Reader reader) {
    streams();
    Flux<Object> items = Flux.from(stream);
    for (CallState state : states) {
      items = state.items(items, reader);
    }
    return items;
  }

  /** Whether its result is a stream, or has one in it. */
  public boolean isStream() {
    return stream;
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
    if (isOver()) {
      return false;
    }
    boolean depends = plan.outcomes().byStatus();
    for (CallState state : states) {
      depends |= state.dependsOnStatus();
    }
    return depends;
  }

  /** Whether the response must be written before it is over. */
  public boolean lastsUntilWritten() {
    boolean lasts = false;
    for (CallState state : states) {
      lasts |= state.lastsUntilWritten();
    }
    return lasts && !isOver();
  }

  /** Whether its completion is reported, or makes no difference. */
  public synchronized boolean isOver() {
    return phase == Phase.OVER;
  }

  /**
   * The method begins: from here on a call whose completion is not observed may have done anything.
   *
   * @param arguments of the method
   * @return whether it may; not if the call was abandoned
   */
  public boolean enter(CallValues arguments) {
    if (!begin(Phase.RUNNING)) {
      return !completes;
    }
    if (answer != null) {
      answer.entered(arguments);
    }
    return true;
  }

  /**
   * No guard takes the call over where its method begins, so only its response shows how it ends.
   * From here on it counts as made.
   */
  public void passGate() {
    if (completes && claim()) {
      var unused = begin(Phase.RETURNED);
    }
  }

  private boolean begin(Phase next) {
    synchronized (this) {
      if (phase == Phase.OVER) {
        return false;
      }
      phase = next;
    }
    for (CallState state : states) {
      state.entered();
    }
    return true;
  }

  /** The connection was closed before the whole request had arrived: the method never begins. */
  public void cutOff() {
    if (claim()) {
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
    if (isOver()) {
      return DONE;
    }
    if (event instanceof Event.Answered answered) {
      return answered(answered.status(), true);
    }
    if (event instanceof Event.Returned returned) {
      if (answer != null) {
        answer.returned(returned.result(), stream);
      }
      return left(Phase.RETURNED);
    }
    return switch ((Event.Plain) event) {
      case THREW -> left(Phase.THREW);
      case OVER -> answered(NO_STATUS, false);
      case ABANDONED -> unseen();
      case CANCELLED -> responds() ? DONE : unseen();
      case REQUEST_OVER -> runsBehindResponse() ? DONE : unseen();
    };
  }

  /** The method is over. If a response did not wait for it, or there is none, so is the call. */
  private CompletionStage<Void> left(Phase how) {
    int before;
    synchronized (this) {
      if (phase == Phase.OVER) {
        return DONE;
      }
      phase = how;
      before = status;
    }
    if (before == NO_STATUS && hasResponse()) {
      return DONE;
    }
    return before == UNSEEN ? unseen() : answered(before, false);
  }

  private synchronized boolean responds() {
    return hasResponse() && (phase == Phase.RETURNED || phase == Phase.THREW);
  }

  private boolean runsBehindResponse() {
    synchronized (this) {
      if (phase != Phase.RUNNING) {
        return false;
      }
      if (status == NO_STATUS) {
        status = UNSEEN;
      }
    }
    outlived();
    return true;
  }

  private void outlived() {
    for (CallState state : states) {
      state.outlived();
    }
  }

  /**
   * A response has the call's result, or none will: unless the method still runs, that completes
   * the call.
   *
   * @param response its status; {@link #NO_STATUS} if there is none
   * @param waited whether it has waited for the method
   */
  private CompletionStage<Void> answered(int response, boolean waited) {
    // Outside of the lock, since it is code of the application.
    Map<CountedAnswers, Boolean> counted = counted(response);
    Completion completion = null;
    End end = null;
    synchronized (this) {
      if (phase == Phase.OVER) {
        return DONE;
      }
      int seen = response == NO_STATUS ? End.of(phase).status() : response;
      if (phase == Phase.RUNNING) {
        status = seen;
      } else {
        boolean threw = phase == Phase.THREW;
        Map<RuleStack, Integer> costs = answer == null ? Map.of() : answer.costs();
        completion = plan.outcomes().completion(seen, threw, paid(costs), counted);
        end = waited ? new End(phase, seen) : End.of(phase);
        phase = Phase.OVER;
      }
    }
    if (end == null || completion == null) {
      outlived();
      return DONE;
    }
    return complete(completion, end);
  }

  private Map<CountedAnswers, Boolean> counted(int response) {
    CallAnswer judged = answer;
    if (judged == null) {
      return Map.of();
    }
    Phase now;
    synchronized (this) {
      now = phase;
    }
    return now == Phase.OVER || now == Phase.RUNNING
        ? Map.of()
        : judged.counted(response == NO_STATUS ? End.of(now).status() : response);
  }

  /**
   * What the call has cost, as far as that is known.
   *
   * @param byResult what its result shows
   */
  private Map<RuleStack, Integer> paid(Map<RuleStack, Integer> byResult) {
    if (phase == Phase.WAITING || states.length == 0) {
      return byResult;
    }
    Map<RuleStack, Integer> all = new HashMap<>(byResult);
    for (CallState state : states) {
      all.putAll(state.costs());
    }
    return all;
  }

  /** How the call ended was not observed. */
  private CompletionStage<Void> unseen() {
    Completion completion;
    End end;
    synchronized (this) { // it has entered, or never will
      if (phase == Phase.OVER) {
        return DONE;
      }
      completion = CompletionPlan.unseen(phase != Phase.WAITING, paid(Map.of()));
      end = End.of(phase);
      phase = Phase.OVER;
    }
    return complete(completion, end);
  }

  /** The only place that ends a call. */
  private CompletionStage<Void> complete(Completion completion, End end) {
    CompletionStage<Void> all =
        plan.outcomes().decide()
            ? attempt(
                () -> verdict.reservation().settle(completion),
                "A call could not be settled, so its units stay taken until they expire")
            : DONE;
    for (CallState state : states) {
      all = all.thenCombine(state.over(end), (settled, over) -> null);
    }
    return all;
  }

  /** Changes what a call has taken. If that fails, the call goes on, and the loss is logged. */
  public static CompletionStage<Void> attempt(Supplier<CompletionStage<Long>> action, String loss) {
    CompletionStage<Long> stage;
    try {
      stage = action.get();
    } catch (Throwable broken) { // a reservation may be the application's
      FAILURES.report(LOG, loss, broken);
      return DONE;
    }
    return reported(stage, loss);
  }

  /** Completes when this does, and never fails: a failure is logged. */
  public static CompletionStage<Void> reported(CompletionStage<?> stage, String loss) {
    return stage.handle(
        (done, failure) -> {
          if (failure != null) {
            FAILURES.report(LOG, loss, failure);
          }
          return null;
        });
  }
}
