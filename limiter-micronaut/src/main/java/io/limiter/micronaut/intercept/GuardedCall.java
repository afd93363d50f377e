// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import io.limiter.core.LimitRequest;
import io.limiter.core.Verdict;
import io.limiter.micronaut.call.AdmittedCall;
import io.limiter.micronaut.call.RequestDecision;
import io.limiter.micronaut.call.StoreAnswer;
import io.limiter.micronaut.call.TurnQueue;
import io.limiter.micronaut.exception.CallAbandonedException;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.RoutePlans;
import io.limiter.micronaut.plan.VerdictArguments;
import io.limiter.micronaut.thread.CallContext;
import io.micronaut.aop.MethodInvocationContext;
import io.micronaut.core.propagation.PropagatedContext;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpRequestWrapper;
import io.micronaut.http.context.ServerRequestContext;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.util.context.ContextView;

/** One call of a limited method. */
final class GuardedCall {

  private static final Logger LOG = LoggerFactory.getLogger(GuardedCall.class);

  // Named, because no service needs it.
  private static final String ON_ERROR = "io.micronaut.websocket.annotation.OnError";

  private final GuardedCalls parts;
  private final MethodInvocationContext<Object, Object> context;
  private final LimitPlan plan;
  private final Optional<HttpRequest<?>> request;
  private final CallContext caller;
  private final AtomicReference<@Nullable Admission> granted;
  private volatile @Nullable LimitDeniedException refusal;
  private volatile @Nullable RuntimeException indigestible;

  GuardedCall(
      GuardedCalls parts,
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
    Optional<RequestDecision> ticket =
        request.isPresent() ? RequestDecision.take(request.get(), plan) : Optional.empty();
    if (ticket.isPresent()) {
      granted.set(new Admission(plan, ticket.get().verdict(), ticket, ticket.get().end()));
    }
  }

  private GuardedCall(
      GuardedCalls parts,
      MethodInvocationContext<Object, Object> context,
      LimitPlan plan,
      Optional<HttpRequest<?>> request,
      CallContext caller,
      AtomicReference<@Nullable Admission> granted) {
    this.parts = parts;
    this.context = context;
    this.plan = plan;
    this.request = request;
    this.caller = caller;
    this.granted = granted;
  }

  /**
   * The call that a subscription to what this one gives is: in the name of the request that
   * subscribes, else of this one's. What that one was granted is for the first such.
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
        parts, context, plan, request, request.map(here::with).orElse(here), granted);
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
    Optional<RequestDecision> ticket =
        RequestDecision.of(request.get()); // a changed copy has the same attributes
    return innermost(request.get()) == innermost(other)
        || (ticket.isPresent() && ticket.equals(RequestDecision.of(other)));
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

  /** Arrives with the admission that came with the request, once; else it is decided anew. */
  ArrivingCall arrive() {
    Admission ready = granted.getAndSet(null);
    return ready != null
        ? ArrivingCall.of(ready) // it has waited
        : new ArrivingCall(this, decided().thenApply(this::admit));
  }

  /** The decision, where the caller is at home, behind those before it on its connection. */
  private CompletableFuture<Verdict> decided() {
    return parts.threads().inOrder(decide(), request, caller);
  }

  /** Whether it makes a difference how a call ends, or that its caller leaves. */
  boolean endMatters() {
    return plan.countsByEnd();
  }

  /** Whether calls may have to wait for their turn. */
  boolean mayWait() {
    return plan.waits();
  }

  /** The turn of an admitted call that has to wait. If it is given up, its place is free again. */
  CompletableFuture<Void> turn(Admission admission) {
    CompletableFuture<Void> turn = parts.turns().in(admission.verdict().delay(), request);
    var unused =
        turn.whenComplete(
            (now, abandoned) -> {
              if (abandoned != null) {
                admission.abandoned();
              }
            });
    return turn;
  }

  /** The same stage, on the caller's executor. */
  <T> CompletableFuture<T> back(CompletionStage<T> stage) {
    return parts.threads().back(stage, request, caller);
  }

  /** The same for a caller that waits. */
  Admission awaitAdmission() {
    Admission ready = granted.getAndSet(null);
    if (ready != null) {
      return ready;
    }
    // Before anything is taken: a call that cannot be entered here must not count, nor leave a
    // submission behind that was never made.
    parts.threads().requireMayBlock(plan.method());
    Admission admission = admit(awaitDecision());
    if (!admission.verdict().delay().isZero()) {
      awaitTurn(admission);
    }
    return admission;
  }

  private @Nullable Verdict awaitDecision() {
    CompletionStage<Verdict> decision = decide();
    try {
      return parts.threads().await(decision, plan.method());
    } catch (RuntimeException failure) {
      if (Thread.currentThread().isInterrupted()) { // what comes yet is for nobody
        var unused = decision.thenAccept(late -> late.reservation().refund());
      }
      throw failure;
    }
  }

  private void awaitTurn(Admission admission) {
    CompletableFuture<Void> turn = turn(admission);
    try {
      parts.threads().await(turn, plan.method(), admission.verdict().delay());
    } catch (RuntimeException abandoned) {
      TurnQueue.abandon(turn); // an interrupt too, be it as the turn comes
      admission.abandoned();
      throw abandoned;
    }
  }

  /**
   * Whether the result is streamed as the answer to a request. Then it is decided at once: an
   * answer that has begun cannot become a denial. Who has no admission yet waits for it, which is
   * why such routes are moved to a thread that may.
   */
  boolean streamsAnswer() {
    return !single() && isRoute();
  }

  /**
   * Enters the method, as if on the thread that made the call, or that subscribed to its publisher.
   *
   * @param method the rest of the call, up to what it returns
   */
  <T> T enter(Admission admission, Supplier<T> method) {
    if (!admission.end().entered()) {
      throw new CallAbandonedException();
    }
    if (plan.takesVerdict()) {
      VerdictArguments.set(
          context.getArguments(), context.getParameterValues(), admission.verdict());
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

  /** The method has given its result: settles the call; completes on the caller's executor. */
  CompletionStage<Void> returned(Admission admission, @Nullable Object result) {
    return back(admission.returned(result));
  }

  /** Releases what a failed call holds; completes on the caller's executor. */
  CompletionStage<Void> failed(Admission admission) {
    return back(admission.failed());
  }

  /** The method has given its result, to a caller that waits. */
  void awaitReturned(Admission admission, @Nullable Object result) {
    awaitIfMayBlock(admission.returned(result));
  }

  /** Releases what a failed call holds, for a caller that waits. */
  void awaitFailed(Admission admission) {
    awaitIfMayBlock(admission.failed());
  }

  /** On a thread that must not wait, or is told not to, it goes on by itself. */
  private void awaitIfMayBlock(CompletionStage<Void> settling) {
    if (settling.toCompletableFuture().isDone() || parts.threads().mustNotBlock()) {
      return;
    }
    try {
      parts.threads().await(settling, plan.method());
    } catch (IllegalStateException interrupted) {
      // What the method has done it has done.
    }
  }

  private CompletionStage<Verdict> decide() {
    CallSubjects.Asked call = parts.subjects().request(context, plan, request);
    indigestible = call.failure();
    Optional<LimitRequest> asked = call.request();
    return asked.isPresent()
        ? StoreAnswer.ask(parts.store(), asked.get(), plan)
        : CompletableFuture.completedFuture(Verdict.free(plan.policy()));
  }

  private Admission admit(@Nullable Verdict answer) {
    Verdict verdict = StoreAnswer.present(answer, plan);
    if (!plan.admits(verdict)) {
      if (isRoute()) {
        RequestDecision.refuse(request.orElseThrow(), plan, verdict);
      }
      LimitDeniedException denied = LimitDeniedException.of(verdict, plan.text(verdict));
      refusal = denied;
      throw denied;
    }
    AdmittedCall end = parts.ends().begin(plan, verdict);
    Optional<RequestDecision> ticket =
        isRoute()
            ? Optional.of(RequestDecision.record(request.orElseThrow(), plan, verdict, end))
            : Optional.empty();
    Admission admission = new Admission(plan, verdict, ticket, end);
    RuntimeException failure = indigestible;
    if (failure != null) { // it is counted, and its method is not entered
      var unused = admission.failed();
      throw failure;
    }
    return admission;
  }

  /** Whether the method is one of a WebSocket, whose refusal nothing answers. */
  boolean isOfWebSocket() {
    return RoutePlans.isOfWebSocket(context.getExecutableMethod());
  }

  /**
   * Ends a refused call of a WebSocket by closing that. An exception would be Micronaut's to log,
   * as an error and up to twice, so that a flood of refused messages fills the log. Where the
   * WebSocket has an {@code @OnError} method, that is given the exception instead.
   *
   * @param failure why the call has failed
   * @return whether that was its refusal, and the WebSocket is closed
   */
  boolean closesWebSocket(Throwable failure) {
    LimitDeniedException denied = refusal;
    if (denied == null || (failure != denied && failure.getCause() != denied) || !isOfWebSocket()) {
      return false;
    }
    if (seesErrors(context.getTarget())) {
      // Micronaut drops the failure of a CompletionStage: then this is all that is seen of it.
      LOG.debug(
          "{} refused a call ({}): that is left to the @OnError method beside it",
          plan.method(),
          denied.verdict().outcome());
      return false;
    }
    boolean later = denied.verdict().retryAfter().isPresent();
    boolean closed = parts.threads().closeWebSocket(request, later);
    if (closed) {
      LOG.debug(
          "{} refused a call ({}): the WebSocket is closed with {}",
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
    if (request.isEmpty() || RequestDecision.isAnswered(request.get())) {
      return false;
    }
    Optional<LimitPlan> route = parts.routes().of(request.get());
    return route.isPresent() && route.get().equals(plan);
  }
}
