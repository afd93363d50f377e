// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import io.limiter.core.LimitRequest;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.micronaut.call.AdmissionControl;
import io.limiter.micronaut.call.CallerPlans;
import io.limiter.micronaut.call.LimitedCall;
import io.limiter.micronaut.exception.CallAbandonedException;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.intercept.LimitInterceptor.AsyncCompletion;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlanRegistry;
import io.limiter.micronaut.plan.VerdictParameter;
import io.limiter.micronaut.subject.SubjectSource;
import io.limiter.micronaut.thread.CallerThreads;
import io.limiter.micronaut.thread.CallerThreads.CallContext;
import io.micronaut.aop.MethodInvocationContext;
import io.micronaut.context.BeanContext;
import io.micronaut.core.propagation.PropagatedContext;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpRequestWrapper;
import io.micronaut.http.context.ServerRequestContext;
import jakarta.inject.Singleton;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.util.context.ContextView;

/**
 * One call of a limited method, as the guard sees it: finds who is counted, has the call decided,
 * enters the method in the context of its caller, and reports how it ended.
 */
final class GuardedCall {

  private static final Logger LOG = LoggerFactory.getLogger(GuardedCall.class);

  /**
   * What calls need.
   *
   * @param plans finds whether a method is the request's own route
   * @param beans finds what else the bean of a method has
   */
  @Singleton
  record Parts(
      AdmissionControl admission,
      CallSubjects subjects,
      CallerPlans callers,
      PlanRegistry plans,
      BeanContext beans) {}

  // By name, because micronaut-websocket is optional.
  private static final String ON_ERROR = "io.micronaut.websocket.annotation.OnError";

  private final Parts parts;
  private final MethodInvocationContext<Object, Object> context;
  private final LimitPlan plan;
  private final Optional<HttpRequest<?>> request;
  private final CallContext caller;
  private final AtomicReference<@Nullable LimitedCall> admittedAtGate;
  // The part of the plan that holds for the caller.
  private volatile LimitPlan decidedBy;
  private volatile @Nullable LimitDeniedException denial;
  private volatile @Nullable RuntimeException indigestible;
  private volatile @Nullable LimitRequest asked;
  private volatile @Nullable Function<SubjectSource, Subject> who;

  /** A call on the thread that makes it, which is where its request is known first. */
  GuardedCall(
      Parts parts,
      MethodInvocationContext<Object, Object> context,
      LimitPlan plan,
      Optional<? extends HttpRequest<?>> request) {
    this(
        parts,
        context,
        plan,
        request.isPresent() ? Optional.of(request.get()) : Optional.empty(),
        CallContext.current(),
        new AtomicReference<>());
    if (request.isPresent()) {
      LimitedCall.take(request.get(), plan).ifPresent(admittedAtGate::set);
    }
  }

  private GuardedCall(
      Parts parts,
      MethodInvocationContext<Object, Object> context,
      LimitPlan plan,
      Optional<HttpRequest<?>> request,
      CallContext caller,
      AtomicReference<@Nullable LimitedCall> admittedAtGate) {
    this.parts = parts;
    this.context = context;
    this.plan = plan;
    this.decidedBy = plan;
    this.request = request;
    this.caller = caller;
    this.admittedAtGate = admittedAtGate;
  }

  /**
   * The call of one subscription to the publisher of this call: in the name of the request that
   * subscribes, else of the request of this call. The first such call takes the gate's admission.
   */
  GuardedCall subscribed(ContextView subscriber) {
    Optional<HttpRequest<?>> own = request(subscriber);
    CallContext known = CallContext.of(subscriber);
    if (own.isPresent() && !isOf(own.get())) {
      return new GuardedCall(
          parts, context, plan, own, known.with(own.get()), new AtomicReference<>());
    }
    CallContext here = own.isPresent() ? caller : known.or(caller);
    return new GuardedCall(
        parts, context, plan, request, request.map(here::with).orElse(here), admittedAtGate);
  }

  /** The same call in the name of no request. */
  GuardedCall ofNoRequest() {
    return new GuardedCall(
        parts, context, plan, Optional.empty(), CallContext.NONE, new AtomicReference<>());
  }

  /** Whether another is made in the name of a request, and this one not in that. */
  boolean isOfAnotherThan(GuardedCall other) {
    return other.request.isPresent() && !isOf(other.request.get());
  }

  private boolean isOf(HttpRequest<?> other) {
    if (request.isEmpty()) {
      return false;
    }
    Optional<LimitedCall> decided =
        LimitedCall.of(request.get()); // a changed copy has the same attributes
    return innermost(request.get()) == innermost(other)
        || (decided.isPresent() && decided.equals(LimitedCall.of(other)));
  }

  private static HttpRequest<?> innermost(HttpRequest<?> request) {
    HttpRequest<?> innermost = request;
    while (innermost instanceof HttpRequestWrapper<?> wrapper) {
      innermost = wrapper.getDelegate();
    }
    return innermost;
  }

  private static Optional<HttpRequest<?>> request(ContextView subscriber) {
    Optional<HttpRequest<Object>> own = ServerRequestContext.currentRequest(subscriber);
    Optional<HttpRequest<Object>> found =
        own.isPresent() ? own : ServerRequestContext.currentRequest();
    return found.isPresent() ? Optional.of(found.get()) : Optional.empty();
  }

  /** The admission of the gate, once; else a decision of its own. */
  Admission arrive() {
    LimitedCall ready = admittedAtGate.getAndSet(null);
    return ready != null ? new Admission(ready) : new Admission(decided().thenApply(this::admit));
  }

  /** A call on its way into its method: while it is decided, and while it waits for its turn. */
  final class Admission {

    private final CompletableFuture<LimitedCall> admitted;

    // Both are guarded by this.
    private @Nullable CompletableFuture<Void> turn;
    private boolean left;

    /** A call that has waited at the gate. */
    private Admission(LimitedCall ready) {
      admitted = CompletableFuture.completedFuture(ready);
    }

    private Admission(CompletableFuture<LimitedCall> decided) {
      admitted = plan.waits() ? decided.thenCompose(this::inTurn) : decided;
    }

    /** Completes on the caller's executor, when the call may begin. */
    CompletableFuture<LimitedCall> admitted() {
      return admitted;
    }

    /** The caller no longer waits: a call that has not begun yet is given up. */
    void leave() {
      CompletableFuture<Void> waiting;
      synchronized (this) {
        left = true;
        waiting = turn;
      }
      if (waiting != null) {
        AdmissionControl.abandon(waiting);
      }
    }

    private CompletionStage<LimitedCall> inTurn(LimitedCall call) {
      if (call.verdict().delay().isZero()) {
        return CompletableFuture.completedFuture(call);
      }
      CompletableFuture<Void> waiting = parts.admission().turn(call, request);
      boolean gone;
      synchronized (this) {
        turn = waiting;
        gone = left;
      }
      if (gone) {
        AdmissionControl.abandon(waiting);
      }
      return back(waiting).thenApply(now -> call);
    }
  }

  /** The decision, where the caller is at home, behind those before it on its connection. */
  private CompletableFuture<Verdict> decided() {
    return threads().inOrder(decide(), request, caller);
  }

  /** Whether it makes a difference how a call ends, or that its caller leaves. */
  boolean endMatters() {
    return plan.countsByCompletion();
  }

  /** Whether calls may have to wait for their turn. */
  boolean mayWait() {
    return plan.waits();
  }

  private CallerThreads threads() {
    return parts.admission().threads();
  }

  /** The same stage, on the caller's executor. */
  <T> CompletableFuture<T> back(CompletionStage<T> stage) {
    return threads().back(stage, request, caller);
  }

  /** The same for a caller that waits. */
  LimitedCall awaitAdmission() {
    LimitedCall ready = admittedAtGate.getAndSet(null);
    if (ready != null) {
      return ready;
    }
    // Before anything is taken: a call that cannot be entered here must not count, nor leave a
    // submission behind that was never made.
    threads().requireMayBlock(plan.method());
    LimitedCall call = admit(awaitDecision());
    if (!call.verdict().delay().isZero()) {
      awaitTurn(call);
    }
    return call;
  }

  private @Nullable Verdict awaitDecision() {
    CompletionStage<Verdict> decision = decide();
    try {
      return threads().await(decision, plan.method());
    } catch (RuntimeException failure) {
      // A late verdict has no call: what it took was for none, so all of it is given back.
      if (Thread.currentThread().isInterrupted()) {
        var unused = decision.thenAccept(late -> late.reservation().refund());
      }
      throw failure;
    }
  }

  private void awaitTurn(LimitedCall call) {
    CompletableFuture<Void> turn = parts.admission().turn(call, request);
    try {
      threads().await(turn, plan.method(), call.verdict().delay());
    } catch (RuntimeException abandoned) {
      AdmissionControl.abandon(turn); // an interrupt too, even as the turn comes
      call.on(LimitedCall.Event.Plain.ABANDONED);
      throw abandoned;
    }
  }

  /**
   * Whether the result is streamed as the response. The call is decided before the stream begins,
   * since a response that has begun cannot become a denial. A call that the gate has not admitted
   * blocks for its decision, so its route runs on a thread that may block.
   */
  boolean streamsAnswer() {
    return !single() && isRoute();
  }

  /**
   * Enters the method, as if on the thread that made the call, or that subscribed to its publisher.
   *
   * @param method the rest of the call, up to what it returns
   */
  <T> T enter(LimitedCall call, Supplier<T> method) {
    if (!call.enter()) {
      throw new CallAbandonedException();
    }
    if (plan.takesVerdict()) {
      VerdictParameter.passVerdict(
          context.getArguments(), context.getParameterValues(), call.verdict());
    }
    return inContext(method);
  }

  /** Runs code of the application as if on that thread. */
  <T> T inContext(Supplier<T> code) {
    try (PropagatedContext.Scope ignored = caller.propagated().propagate()) {
      return code.get();
    }
  }

  /** Whether the method runs on another thread, behind what its caller waits for. */
  boolean isHandedOn() {
    return AsyncCompletion.sees(context);
  }

  /** Has that thread run the rest of the call so. */
  void handOn(AsyncCompletion.Rest rest) {
    AsyncCompletion.handOn(context, rest);
  }

  boolean single() {
    return context.getReturnType().isSingleResult();
  }

  /** Reports how the method ended; completes on the caller's executor. */
  CompletionStage<Void> on(LimitedCall call, LimitedCall.Event event) {
    return back(call.on(event));
  }

  /** The same for a caller that waits. */
  void awaitOn(LimitedCall call, LimitedCall.Event event) {
    awaitIfMayBlock(call.on(event));
  }

  /** A thread that must not block does not wait for the report. */
  private void awaitIfMayBlock(CompletionStage<Void> reported) {
    if (reported.toCompletableFuture().isDone() || threads().mustNotBlock()) {
      return;
    }
    try {
      threads().await(reported, plan.method());
    } catch (IllegalStateException interrupted) {
      // The method has run.
    }
  }

  private CompletionStage<Verdict> decide() {
    if (plan.isSameForAll()) {
      return decide(plan);
    }
    CompletableFuture<LimitPlan> own = parts.callers().inTier(plan, request);
    return own.isDone()
        ? decideInTier(own.join())
        : back(own).thenCompose(inTier -> inContext(() -> decideInTier(inTier)));
  }

  private CompletionStage<Verdict> decideInTier(LimitPlan inTier) {
    return decide(
        parts
            .callers()
            .part(
                inTier,
                request,
                condition -> condition.limits(context.getTarget(), context.getParameterValues())));
  }

  private CompletionStage<Verdict> decide(LimitPlan part) {
    decidedBy = part;
    CallSubjects.Asked call = parts.subjects().request(context, part, request);
    indigestible = call.failure();
    Optional<LimitRequest> charged = call.request();
    asked = charged.orElse(null);
    who = call.who();
    return charged.isPresent()
        ? parts.admission().ask(charged.get(), part)
        : CompletableFuture.completedFuture(Verdict.free(part.policy()));
  }

  private LimitedCall admit(@Nullable Verdict verdict) {
    Optional<HttpRequest<?>> route = isRoute() ? request : Optional.empty();
    Optional<LimitDeniedException> denied =
        parts.admission().denial(verdict, decidedBy, asked, who, route, caller.propagated());
    if (verdict == null || denied.isPresent()) {
      denial = denied.orElseThrow();
      throw denied.get();
    }
    LimitedCall call = parts.admission().admit(verdict, decidedBy, route);
    RuntimeException failure = indigestible;
    if (failure != null) { // it is counted, and its method is not entered
      call.on(LimitedCall.Event.Plain.THREW);
      throw failure;
    }
    return call;
  }

  /** Whether the method is one of a WebSocket, whose denial has no response. */
  boolean isOfWebSocket() {
    return PlanRegistry.isOfWebSocket(context.getExecutableMethod());
  }

  /**
   * Closes the WebSocket of a denied call. Micronaut would log an exception as an error, up to
   * twice, so that a flood of denied messages fills the log. An {@code @OnError} method of the
   * WebSocket receives the exception instead.
   *
   * @param failure why the call has failed
   * @return whether that was its denial, and the WebSocket is closed
   */
  boolean closesWebSocket(Throwable failure) {
    LimitDeniedException denied = denial;
    if (denied == null || (failure != denied && failure.getCause() != denied) || !isOfWebSocket()) {
      return false;
    }
    if (seesErrors(context.getTarget())) {
      // Micronaut drops the failure of a CompletionStage: then this is all that is seen of it.
      LOG.debug(
          "{} denied a call ({}): that is left to its @OnError method",
          plan.method(),
          denied.verdict().outcome());
      return false;
    }
    boolean later = denied.verdict().retryAfter().isPresent();
    boolean closed = threads().closeWebSocket(request, later);
    if (closed) {
      LOG.debug(
          "{} denied a call ({}): the WebSocket is closed with {}",
          plan.method(),
          denied.verdict().outcome(),
          later ? "1013" : "1008");
    }
    return closed;
  }

  private boolean seesErrors(Object bean) {
    return parts.beans().findBeanDefinition(bean.getClass()).stream()
        .flatMap(definition -> definition.getExecutableMethods().stream())
        .anyMatch(method -> method.hasAnnotation(ON_ERROR));
  }

  private boolean isRoute() {
    if (request.isEmpty() || LimitedCall.isAnswered(request.get())) {
      return false;
    }
    Optional<LimitPlan> route = parts.plans().ofRoute(request.get());
    return route.isPresent() && route.get().equals(plan);
  }
}
