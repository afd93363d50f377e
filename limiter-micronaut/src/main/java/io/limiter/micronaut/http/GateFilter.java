// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.LimitRequest;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.micronaut.call.AdmissionControl;
import io.limiter.micronaut.call.CallerPlans;
import io.limiter.micronaut.call.LimitedCall;
import io.limiter.micronaut.config.CallerConfiguration.BlockConfiguration;
import io.limiter.micronaut.config.LimiterConfiguration.GateConfiguration;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.definition.CallExpression;
import io.limiter.micronaut.denial.Denial;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlanRegistry;
import io.limiter.micronaut.subject.CallerLists;
import io.limiter.micronaut.subject.RequestSubjects;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.order.Ordered;
import io.micronaut.core.propagation.PropagatedContext;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.HttpVersion;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.exceptions.HttpStatusException;
import io.micronaut.http.filter.ConditionalFilter;
import io.micronaut.http.filter.ServerFilterPhase;
import io.micronaut.http.server.exceptions.response.ErrorContext;
import io.micronaut.http.server.exceptions.response.ErrorResponseProcessor;
import jakarta.inject.Inject;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The gate: rejects the requests of blocked callers, and decides those whose plan needs nothing but
 * the request, on the event loop of the request, without waiting, before arguments are bound or the
 * body is read. It decides behind security, or before it for plans that ask for that, so that
 * guessed passwords are counted and denied before one is checked. An admitted request carries its
 * {@link LimitedCall} to the guard.
 */
@Internal
@ServerFilter(patterns = ServerFilter.MATCH_ALL_PATTERN, appendContextPath = false)
public final class GateFilter implements ConditionalFilter {

  /** Behind {@link ServerFilterPhase#SECURITY}, which finds the user. */
  public static final int ORDER = 39_250;

  /** Before {@link ServerFilterPhase#SECURITY}, behind the session. */
  public static final int ORDER_BEFORE_SECURITY = 38_750;

  private static final String DISCONNECT = "io.limiter.disconnect";

  private static final CompletionStage<Optional<MutableHttpResponse<?>>> ENTER =
      CompletableFuture.completedFuture(Optional.empty());

  private final boolean decides;
  private final PlanRegistry plans;
  private final PoliciesConfiguration settings;
  private final CallerLists lists;
  private final CallerPlans callers;
  private final UserWarnings users;
  private final RequestSubjects subjects;
  private final AdmissionControl admission;
  private final DirectDenials denials;
  private final ErrorResponseProcessor<?> errors;

  @Inject
  GateFilter(
      GateConfiguration gate,
      PlanRegistry plans,
      PoliciesConfiguration settings,
      CallerLists lists,
      CallerPlans callers,
      UserWarnings users,
      RequestSubjects subjects,
      AdmissionControl admission,
      DirectDenials denials,
      ErrorResponseProcessor<?> errors) {
    this.errors = errors;
    this.decides = gate.enabled();
    this.plans = plans;
    this.settings = settings;
    this.lists = lists;
    this.callers = callers;
    this.users = users;
    this.subjects = subjects;
    this.admission = admission;
    this.denials = denials;
  }

  private GateFilter(
      GateFilter usual,
      RequestSubjects subjects,
      AdmissionControl admission,
      DirectDenials denials) {
    this.errors = usual.errors;
    this.decides = usual.decides;
    this.plans = usual.plans;
    this.settings = usual.settings;
    this.lists = usual.lists;
    this.callers = usual.callers;
    this.users = usual.users;
    this.subjects = subjects;
    this.admission = admission;
    this.denials = denials;
  }

  /** The same with other parts, for a warm-up. */
  GateFilter with(
      RequestSubjects otherSubjects, AdmissionControl otherAdmission, DirectDenials otherDenials) {
    return new GateFilter(this, otherSubjects, otherAdmission, otherDenials);
  }

  @Override
  public boolean isEnabled(HttpRequest<?> request) {
    return settings.block() != null || plan(request) != null;
  }

  /** The plan by which the gate decides a request; null if it does not. */
  private @Nullable LimitPlan plan(HttpRequest<?> request) {
    LimitPlan plan = decides ? plans.ofRoute(request).orElse(null) : null;
    return plan != null && plan.decidedByRequest() ? plan : null;
  }

  /** Before all other filters, whatever is requested. */
  @RequestFilter
  @Order(Ordered.HIGHEST_PRECEDENCE)
  Optional<MutableHttpResponse<?>> rejectAddress(HttpRequest<?> request) {
    BlockConfiguration block = settings.block();
    return block != null && lists.isAddressBlocked(block, request)
        ? Optional.of(blocked(request, block))
        : Optional.empty();
  }

  @RequestFilter
  @Order(ORDER_BEFORE_SECURITY)
  CompletionStage<Optional<MutableHttpResponse<?>>> beforeSecurity(HttpRequest<?> request) {
    LimitPlan plan = plan(request);
    return plan != null && plan.beforeSecurity() ? decide(request, plan) : ENTER;
  }

  @RequestFilter
  @Order(ORDER)
  CompletionStage<Optional<MutableHttpResponse<?>>> behindSecurity(HttpRequest<?> request) {
    BlockConfiguration block = settings.block();
    if (block != null && lists.isUserBlocked(block, request)) {
      return CompletableFuture.completedFuture(Optional.of(blocked(request, block)));
    }
    LimitPlan plan = plan(request);
    return plan != null && !plan.beforeSecurity() ? decide(request, plan) : ENTER;
  }

  /** The application may answer a status that Micronaut names; others are answered here. */
  private MutableHttpResponse<?> blocked(HttpRequest<?> request, BlockConfiguration block) {
    Optional<HttpStatus> named = Denial.named(block.status());
    if (named.isPresent()) {
      throw new HttpStatusException(named.get(), block.message());
    }
    return errors
        .processResponse(
            ErrorContext.builder(request).errorMessage(block.message()).build(),
            HttpResponse.status(HttpStatus.FORBIDDEN))
        .status(block.status(), "Blocked");
  }

  /** Decides a request that is limited by this plan. */
  CompletionStage<Optional<MutableHttpResponse<?>>> decide(HttpRequest<?> request, LimitPlan plan) {
    admission.arrived(request);
    if (plan.isSameForAll()) {
      return decideBy(request, plan);
    }
    CompletableFuture<LimitPlan> own = callers.inTier(plan, Optional.of(request));
    if (own.isDone()) {
      return decideByPart(request, own.join());
    }
    PropagatedContext context = PropagatedContext.getOrEmpty();
    return admission
        .threads()
        .back(own, Optional.of(request))
        .thenCompose(
            found -> {
              try (PropagatedContext.Scope ignored = context.propagate()) {
                return decideByPart(request, found);
              }
            });
  }

  private CompletionStage<Optional<MutableHttpResponse<?>>> decideByPart(
      HttpRequest<?> request, LimitPlan inTier) {
    LimitPlan part = callers.part(inTier, Optional.of(request), arguments -> true);
    PlanRegistry.decideBy(part, request);
    return decideBy(request, part);
  }

  private CompletionStage<Optional<MutableHttpResponse<?>>> decideBy(
      HttpRequest<?> request, LimitPlan plan) {
    Function<SubjectSource, Subject> who = source -> subjects.resolve(source, request);
    Optional<LimitRequest> charged =
        plan.request(who, submission -> submission.ofRequest(request), GateFilter::noArguments);
    if (charged.isEmpty()) {
      var unused = AdmissionControl.admitUncharged(plan, request);
      return ENTER;
    }
    if (plan.countsUsers()) {
      users.atGate(request, plan);
    }
    PropagatedContext context = PropagatedContext.getOrEmpty();
    CompletableFuture<Verdict> decision =
        admission.threads().inOrder(admission.ask(charged.get(), plan), Optional.of(request));
    return decision.isDone() && !decision.isCompletedExceptionally()
        ? decided(request, plan, charged.get(), who, decision.join(), context)
        : decision.thenCompose(
            verdict -> decided(request, plan, charged.get(), who, verdict, context));
  }

  private static int noArguments(CallExpression cost) {
    throw new IllegalStateException("A request has no cost by " + cost);
  }

  private CompletionStage<Optional<MutableHttpResponse<?>>> decided(
      HttpRequest<?> request,
      LimitPlan plan,
      LimitRequest asked,
      Function<SubjectSource, Subject> who,
      @Nullable Verdict verdict,
      PropagatedContext context) {
    Optional<LimitDeniedException> denial =
        admission.denial(verdict, plan, asked, who, Optional.of(request), context);
    if (verdict == null || denial.isPresent()) {
      return denied(request, denial.orElseThrow(), context);
    }
    LimitedCall call = admission.admitAtGate(verdict, plan, request);
    if (plan.countsByCompletion()) {
      watchConnection(request, call);
    }
    if (verdict.delay().isZero()) {
      return pass(call, plan);
    }
    Optional<HttpRequest<?>> waiting = Optional.of(request);
    return admission
        .threads()
        .back(admission.turn(call, waiting), waiting)
        .thenCompose(now -> pass(call, plan));
  }

  private static CompletionStage<Optional<MutableHttpResponse<?>>> pass(
      LimitedCall call, LimitPlan plan) {
    if (!plan.isGuarded()) {
      call.passGate();
    }
    return ENTER;
  }

  private CompletionStage<Optional<MutableHttpResponse<?>>> denied(
      HttpRequest<?> request, LimitDeniedException denial, PropagatedContext context) {
    // The message may be the application's, and read the context.
    try (PropagatedContext.Scope ignored = context.propagate()) {
      Optional<MutableHttpResponse<?>> response = denials.respond(request, denial);
      if (response.isEmpty()) {
        throw denial;
      }
      return CompletableFuture.completedFuture(response);
    }
  }

  /**
   * Gives up the call once its connection is closed. Micronaut reports that for HTTP/1.1 and for a
   * stream that is reset, but not for a connection of many streams: a request whose body is
   * incomplete would wait for ever, and keep its permit.
   */
  private void watchConnection(HttpRequest<?> request, LimitedCall call) {
    if (request.getHttpVersion() == HttpVersion.HTTP_2_0) {
      request.setAttribute(
          DISCONNECT, admission.threads().onGone(Optional.of(request), call::cutOff));
    }
  }

  /** Ends the watch over the connection of a request that is over. */
  static void forgetConnection(HttpRequest<?> request) {
    if (request.getHttpVersion() == HttpVersion.HTTP_2_0
        && request.getAttribute(DISCONNECT).orElse(null) instanceof Runnable forget) {
      forget.run();
    }
  }
}
