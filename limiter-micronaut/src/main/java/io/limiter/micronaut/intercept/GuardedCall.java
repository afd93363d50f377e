// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.annotation.BudgetEnd;
import io.limiter.micronaut.call.AdmissionControl;
import io.limiter.micronaut.call.ArrivingCall;
import io.limiter.micronaut.call.CallState;
import io.limiter.micronaut.call.LimitedCall;
import io.limiter.micronaut.definition.CallExpression;
import io.limiter.micronaut.exception.CallAbandonedException;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.intercept.LimitInterceptor.AsyncCompletion;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlanRegistry;
import io.limiter.micronaut.plan.VerdictParameter;
import io.limiter.micronaut.subject.RequestSubjects;
import io.limiter.micronaut.subject.SubjectSource;
import io.limiter.micronaut.subject.SubmissionDigest;
import io.limiter.micronaut.thread.CallerThreads;
import io.limiter.micronaut.thread.CallerThreads.CallContext;
import io.micronaut.aop.MethodInvocationContext;
import io.micronaut.context.BeanContext;
import io.micronaut.context.BeanProvider;
import io.micronaut.core.async.publisher.Publishers;
import io.micronaut.core.convert.ConversionService;
import io.micronaut.core.type.Argument;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpRequestWrapper;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.context.ServerRequestContext;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Mono;
import reactor.util.context.ContextView;

/**
 * One call of a limited method in the guard. It takes the admission of the gate, or asks for a
 * decision, enters the method in the context of its caller, and reports how the method ended.
 */
class GuardedCall extends ArrivingCall<LimitedCall> implements CallState.Reader {

  private static final Logger LOG = LoggerFactory.getLogger(GuardedCall.class);
  private static final LogThrottle BROKEN_ENDS = new LogThrottle();

  /**
   * What calls need.
   *
   * @param digest digests arguments, which needs a JSON mapper
   * @param plans finds whether a method is the request's own route
   * @param beans finds what else the bean of a method has
   * @param conversions converts streams to the types that methods return
   */
  @Singleton
  record Parts(
      AdmissionControl admission,
      RequestSubjects subjects,
      BeanProvider<SubmissionDigest> digest,
      PlanRegistry plans,
      BeanContext beans,
      ConversionService conversions) {}

  // By name, because micronaut-websocket is optional.
  private static final String ON_ERROR = "io.micronaut.websocket.annotation.OnError";

  private final Parts parts;
  private final MethodInvocationContext<Object, Object> invocation;
  private final AtomicReference<@Nullable LimitedCall> admittedAtGate;
  // Why its submission cannot be compared with others. Such a call must not enter its method, but
  // its rules count it: a caller could avoid its limit with such input otherwise.
  private volatile @Nullable Throwable indigestible;
  private volatile @Nullable LimitDeniedException denial;
  private volatile @Nullable LimitedCall early; // what the gate has decided of this call

  // Both are guarded by this.
  private @Nullable CompletableFuture<Void> turn;
  private boolean left;

  /** A call on the thread that makes it, which is where its request is known first. */
  GuardedCall(
      Parts parts,
      MethodInvocationContext<Object, Object> invocation,
      LimitPlan plan,
      Optional<HttpRequest<?>> request) {
    this(parts, invocation, plan, request, CallContext.current(), new AtomicReference<>());
    if (request.isPresent()) {
      LimitedCall.claim(request.get(), plan).ifPresent(admittedAtGate::set);
    }
  }

  private GuardedCall(
      Parts parts,
      MethodInvocationContext<Object, Object> invocation,
      LimitPlan plan,
      Optional<HttpRequest<?>> request,
      CallContext context,
      AtomicReference<@Nullable LimitedCall> admittedAtGate) {
    super(plan, request, context);
    this.parts = parts;
    this.invocation = invocation;
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
      return of(own, known.with(own.get()), new AtomicReference<>());
    }
    CallContext here = own.isPresent() ? context() : known.or(context());
    return of(request(), request().map(here::with).orElse(here), admittedAtGate);
  }

  /** Returns this call without a request. */
  GuardedCall ofNoRequest() {
    return of(Optional.empty(), CallContext.NONE, new AtomicReference<>());
  }

  private GuardedCall of(
      Optional<HttpRequest<?>> request,
      CallContext context,
      AtomicReference<@Nullable LimitedCall> admittedAtGate) {
    return new GuardedCall(parts, invocation, whole(), request, context, admittedAtGate);
  }

  /** Whether the other call has a request, and this one does not belong to it. */
  boolean isOfAnotherThan(GuardedCall other) {
    return other.request().isPresent() && !isOf(other.request().get());
  }

  private boolean isOf(HttpRequest<?> other) {
    if (request().isEmpty()) {
      return false;
    }
    HttpRequest<?> own = request().get();
    Optional<LimitedCall> decided = LimitedCall.of(own); // a changed copy has the same attributes
    return innermost(own) == innermost(other)
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

  /** Takes the admission of the gate, once; otherwise asks for a decision. */
  CompletableFuture<LimitedCall> arrive() {
    LimitedCall ready = takeAdmission();
    return ready != null ? CompletableFuture.completedFuture(ready) : parts.admission().admit(this);
  }

  /** Like {@link #arrive}, for a caller that waits. */
  LimitedCall awaitArrival() {
    LimitedCall ready = takeAdmission();
    return ready != null ? ready : parts.admission().await(this);
  }

  /** The admission of the gate; null if something is left to decide. */
  private @Nullable LimitedCall takeAdmission() {
    LimitedCall ready = admittedAtGate.getAndSet(null);
    if (ready == null || !ready.isEarly()) {
      return ready;
    }
    early = ready;
    return null;
  }

  @Override
  protected LimitPlan undecided() {
    return early == null ? whole() : whole().behindGate();
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

  @Override
  protected void waits(CompletableFuture<Void> begun) {
    boolean gone;
    synchronized (this) {
      turn = begun;
      gone = left;
    }
    if (gone) {
      AdmissionControl.abandon(begun);
    }
  }

  @Override
  public Subject subject(SubjectSource source) {
    RequestSubjects subjects = parts.subjects();
    if (source.kind() == SubjectSource.Kind.EXPRESSION) {
      return subjects.named(source, text(((SubjectSource.Expression) source).expression()));
    }
    Optional<Subject> outside =
        request().isPresent() ? Optional.empty() : subjects.resolveOutsideOfRequest(source);
    return outside.isPresent()
        ? outside.get()
        : subjects.resolve(
            source,
            requestFor(
                "its calls are counted by "
                    + source.written()
                    + (source.kind() == SubjectSource.Kind.ADDRESS ? ", which is the default" : ""),
                "count all calls together with limitType = GLOBAL, or a subject of its own by an expression over the arguments, subject = \"#{…}\", or by a resolver that returns one from its resolveOutsideOfRequest()"));
  }

  @Override
  public boolean isTrue(CallExpression condition) {
    return condition.isTrue(invocation.getTarget(), invocation.getParameterValues());
  }

  @Override
  public String text(CallExpression expression) {
    return expression.evaluate(invocation.getTarget(), invocation.getParameterValues());
  }

  @Override
  public int units(CallExpression cost) {
    return cost.units(invocation.getTarget(), invocation.getParameterValues());
  }

  @Override
  public Optional<String> digest(List<Integer> positions) {
    try {
      return Optional.of(
          parts
              .digest()
              .get()
              .of(
                  whole().method(),
                  invocation.getArguments(),
                  invocation.getParameterValues(),
                  positions));
    } catch (Throwable failure) {
      indigestible = failure;
      return Optional.empty();
    }
  }

  @Override
  protected void decided(LimitedCall decided) {
    LimitedCall atGate = early;
    if (atGate != null) {
      decided.follows(atGate);
    }
    if (isRoute()) {
      request().ifPresent(decided::replaceOn);
    }
    Throwable failure = indigestible;
    if (failure != null && !decided.isDenied()) {
      decided.on(LimitedCall.Event.Plain.THREW); // it is counted, and its method is not entered
      GuardedCall.<RuntimeException>rethrow(failure);
    }
  }

  /** A getter in another language may have thrown a checked exception. */
  @SuppressWarnings("unchecked")
  private static <T extends Throwable> void rethrow(Throwable failure) throws T {
    throw (T) failure;
  }

  @Override
  protected LimitedCall proceed(LimitedCall admitted) {
    return admitted;
  }

  @Override
  protected LimitedCall deny(LimitDeniedException denied) {
    denial = denied;
    throw denied;
  }

  /** Whether it makes a difference how a call ends, or that its caller leaves. */
  boolean endMatters() {
    return whole().countsByCompletion();
  }

  /** Whether calls may have to wait for their turn. */
  boolean mayWait() {
    return whole().waits();
  }

  private CallerThreads threads() {
    return parts.admission().threads();
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
    if (!call.enter(this)) {
      throw new CallAbandonedException();
    }
    if (whole().takesVerdict()) {
      VerdictParameter.passVerdict(
          invocation.getArguments(), invocation.getParameterValues(), call.verdict());
    }
    return inContext(method);
  }

  /** Whether the method runs on another thread, for which its caller does not wait. */
  boolean isHandedOn() {
    return AsyncCompletion.sees(invocation);
  }

  /** Makes that thread run the rest of the call this way. */
  void handOn(AsyncCompletion.Rest rest) {
    AsyncCompletion.handOn(invocation, rest);
  }

  boolean single() {
    return invocation.getReturnType().isSingleResult();
  }

  /** Reports how the method ended; completes on the caller's executor. */
  CompletionStage<Void> on(LimitedCall call, LimitedCall.Event event) {
    return resume(call.on(event));
  }

  /** Reports that the method has returned; a stream in its result reports its own end. */
  CompletionStage<Void> returned(LimitedCall call, @Nullable Object result) {
    return call.isStream() && !call.hasResponse()
        ? CompletableFuture.completedFuture(null)
        : call.on(new LimitedCall.Event.Returned(result instanceof Publisher ? null : result));
  }

  /**
   * What the caller gets as the result: a stream in it, such as the body of a response, is guarded
   * where its end matters. A response that cannot be changed is copied.
   */
  @Nullable Object result(LimitedCall call, @Nullable Object result) {
    return result == null || call.isOver() ? result : guarded(call, result);
  }

  private Object guarded(LimitedCall call, Object result) {
    if (result instanceof Optional<?> optional) {
      return optional.isPresent() ? Optional.of(guarded(call, optional.get())) : result;
    }
    if (result instanceof HttpResponse<?> response) {
      Object body = response.body();
      Object replaced = body == null ? null : guarded(call, body);
      return replaced == body ? result : response.toMutableResponse().body(replaced);
    }
    if (!Publishers.isConvertibleToPublisher(result)) {
      return result;
    }
    call.streams();
    if (call.hasResponse() && !call.chargesItems()) {
      return result;
    }
    Publisher<Object> items = Publishers.convertToPublisher(parts.conversions(), result);
    Publisher<?> guarded = PublisherGuard.inResult(this, call, items);
    return result instanceof Mono
        ? Mono.fromDirect(guarded)
        : Publishers.convertPublisher(
            parts.conversions(),
            guarded,
            stream().<Class<?>>map(Argument::getType).orElse(Publisher.class));
  }

  /** The type of the stream that the method returns, or that is in its result. */
  private Optional<Argument<?>> stream() {
    Argument<?> type = invocation.getReturnType().asArgument();
    if (single()) {
      type = type.getFirstTypeVariable().orElse(Argument.OBJECT_ARGUMENT);
    }
    while (!Publishers.isConvertibleToPublisher(type.getType())) {
      Optional<Argument<?>> inner = type.getFirstTypeVariable();
      if (inner.isEmpty()) {
        return inner;
      }
      type = inner.get();
    }
    return Optional.of(type);
  }

  /** Completes on the caller's executor. */
  @Override
  public <T> CompletionStage<T> resume(CompletionStage<T> stage) {
    return threads().resume(stage, request(), context());
  }

  /** Reports that its stream is cut. Returns the last item; empty if the application has none. */
  @Override
  public Optional<Object> cut(Verdict denied) {
    parts.admission().streamCut(denied);
    try {
      return stream()
          .flatMap(Argument::getFirstTypeVariable)
          .flatMap(item -> parts.beans().findBean(Argument.of(BudgetEnd.class, item)))
          .map(end -> inContext(() -> ((BudgetEnd<?>) end).last(denied)));
    } catch (Throwable broken) { // all items were sent
      BROKEN_ENDS.report(
          LOG,
          whole().method() + ": the BudgetEnd has failed, so streams are cut without a last item",
          broken);
      return Optional.empty();
    }
  }

  /** Reports how the method ended, and waits for the report unless the thread must not block. */
  void awaitOn(LimitedCall call, LimitedCall.Event event) {
    await(call.on(event));
  }

  /** Waits for a report unless the thread must not block. */
  void await(CompletionStage<Void> reported) {
    threads().awaitWhereAllowed(reported, whole().method());
  }

  /** Whether the method is one of a WebSocket, whose denial has no response. */
  boolean isOfWebSocket() {
    return PlanRegistry.isOfWebSocket(invocation.getExecutableMethod());
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
    if (seesErrors(invocation.getTarget())) {
      // Micronaut drops the failure of a CompletionStage: then this is all that is seen of it.
      LOG.debug(
          "{} denied a call ({}): that is left to its @OnError method",
          whole().method(),
          denied.verdict().outcome());
      return false;
    }
    boolean later = !denied.verdict().tooCostly();
    boolean closed = threads().closeWebSocket(request(), later);
    if (closed) {
      LOG.debug(
          "{} denied a call ({}): the WebSocket is closed with {}",
          whole().method(),
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
    if (request().isEmpty() || LimitedCall.isAnswered(request().get())) {
      return false;
    }
    Optional<LimitPlan> route = parts.plans().ofRoute(request().get());
    return route.isPresent() && route.get().equals(whole());
  }
}
