// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.Subject;
import io.limiter.micronaut.call.AdmissionControl;
import io.limiter.micronaut.call.ArrivingCall;
import io.limiter.micronaut.call.LimitedCall;
import io.limiter.micronaut.config.LimiterConfiguration.GateConfiguration;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.definition.CallExpression;
import io.limiter.micronaut.denial.Rejections;
import io.limiter.micronaut.exception.InvalidCallException.MissingSubjectException;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlanRegistry;
import io.limiter.micronaut.subject.CallerLists;
import io.limiter.micronaut.subject.RequestSubjects;
import io.limiter.micronaut.subject.SubjectSource;
import io.limiter.micronaut.thread.CallerThreads.CallContext;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.order.Ordered;
import io.micronaut.core.version.VersionUtils;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpVersion;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.filter.ConditionalFilter;
import io.micronaut.http.filter.ServerFilterPhase;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The gate: rejects the requests of blocked callers, and decides those whose plan needs nothing but
 * the head of the request, or the early part of a plan, on the event loop of the request, without
 * waiting, before the body is read. It decides after security, or before it for plans that ask for
 * that, so that guessed passwords are counted and denied before one is checked. An admitted request
 * carries its {@link LimitedCall} to the guard.
 */
@Internal
@ServerFilter(patterns = ServerFilter.MATCH_ALL_PATTERN, appendContextPath = false)
public final class GateFilter implements ConditionalFilter {

  /** After {@link ServerFilterPhase#SECURITY}, which finds the user. */
  public static final int ORDER = 39_250;

  /** Before {@link ServerFilterPhase#SECURITY}, after the session. */
  public static final int ORDER_BEFORE_SECURITY = 38_750;

  /** The order of a {@link ServerFilter} without one: in Micronaut 4 the last, in Micronaut 5 0. */
  public static final int WITHOUT_ORDER =
      VersionUtils.isAtLeastMicronautVersion("5.0.0") ? 0 : Ordered.LOWEST_PRECEDENCE;

  private static final String DISCONNECT = "io.limiter.disconnect";

  private static final Object[] NO_ARGUMENTS = {};

  private static final CompletionStage<Optional<MutableHttpResponse<?>>> ENTER =
      CompletableFuture.completedFuture(Optional.empty());

  private final boolean decides;
  private final PlanRegistry plans;
  private final PoliciesConfiguration settings;
  private final CallerLists lists;
  private final LateUsers users;
  private final RequestSubjects subjects;
  private final HeadBinder head;
  private final AdmissionControl admission;
  private final Optional<DenialResponder> direct;
  private final Rejections rejections;

  GateFilter(
      GateConfiguration gate,
      PlanRegistry plans,
      PoliciesConfiguration settings,
      CallerLists lists,
      LateUsers users,
      RequestSubjects subjects,
      HeadBinder head,
      AdmissionControl admission,
      Optional<DenialResponder> direct,
      Rejections rejections) {
    this.decides = gate.enabled();
    this.plans = plans;
    this.settings = settings;
    this.lists = lists;
    this.users = users;
    this.subjects = subjects;
    this.head = head;
    this.admission = admission;
    this.direct = direct;
    this.rejections = rejections;
  }

  @Override
  public boolean isEnabled(HttpRequest<?> request) {
    if (lists.isAnyBlocked()) {
      return true;
    }
    LimitPlan plan = plans.ofRoute(request).orElse(null);
    return plan != null && decides && plan.gatePart() != null;
  }

  /** The plan by which the gate decides a request; null if it does not. */
  private @Nullable LimitPlan plan(HttpRequest<?> request) {
    LimitPlan plan = decides ? plans.ofRoute(request).orElse(null) : null;
    return plan == null ? null : plan.gatePart();
  }

  /** Before all other filters, whatever is requested. */
  @RequestFilter
  @Order(Ordered.HIGHEST_PRECEDENCE)
  Optional<MutableHttpResponse<?>> rejectAddress(HttpRequest<?> request) {
    return lists.isAddressBlocked(request) ? Optional.of(blocked(request)) : Optional.empty();
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
    if (lists.isUserBlocked(request)) {
      return CompletableFuture.completedFuture(Optional.of(blocked(request)));
    }
    LimitPlan plan = plan(request);
    return plan != null && !plan.beforeSecurity() ? decide(request, plan) : ENTER;
  }

  private MutableHttpResponse<?> blocked(HttpRequest<?> request) {
    return rejections.blocked(request, settings.current().blockResponse());
  }

  private CompletionStage<Optional<MutableHttpResponse<?>>> decide(
      HttpRequest<?> request, LimitPlan plan) {
    Object[] arguments =
        plan.head().isEmpty() ? NO_ARGUMENTS : head.bind(request, plan.head()).orElse(null);
    if (arguments == null && plan.beforeSecurity()) {
      // Security would check a password that nothing counts.
      throw new MissingSubjectException(
          "The limits before security need arguments that the request lacks: " + plan.method());
    }
    LimitPlan decided = arguments == null ? plan.withoutArguments() : plan;
    if (decided == null) {
      return ENTER; // Micronaut answers 400 when it binds the arguments
    }
    admission.arrived(request);
    return admission.admit(
        new GateCall(this, request, decided, arguments == null ? NO_ARGUMENTS : arguments));
  }

  /** The call of a request at the gate. */
  static class GateCall extends ArrivingCall<Optional<MutableHttpResponse<?>>> {

    private final GateFilter gate;
    private final HttpRequest<?> http;
    private final @Nullable Object[] arguments; // of the head

    GateCall(GateFilter gate, HttpRequest<?> http, LimitPlan plan, @Nullable Object[] arguments) {
      super(plan, Optional.of(http), CallContext.current());
      this.gate = gate;
      this.http = http;
      this.arguments = arguments;
    }

    @Override
    public Subject subject(SubjectSource source) {
      return source instanceof SubjectSource.Expression counted
          ? gate.subjects.named(source, text(counted.expression()))
          : gate.subjects.resolve(source, http);
    }

    @Override
    public boolean isTrue(CallExpression condition) {
      return condition.isTrue(null, arguments);
    }

    @Override
    public String text(CallExpression expression) {
      return expression.evaluate(null, arguments);
    }

    @Override
    public int units(CallExpression cost) {
      return cost.units(null, arguments);
    }

    @Override
    protected void decided(LimitedCall decided) {
      if (plan().countsUsers() && asked() != null) {
        gate.users.noteUser(http, plan());
      }
      if (decided.isDenied()) {
        decided.replaceOn(http);
        return;
      }
      if (plan() != whole() && !plan().isEarly()) {
        PlanRegistry.decideBy(plan(), http);
      }
      decided.attachTo(http);
      if (asked() != null && plan().countsByCompletion()) {
        gate.watchConnection(http, decided);
      }
    }

    @Override
    protected Optional<MutableHttpResponse<?>> proceed(LimitedCall admitted) {
      if (!plan().isGuarded()) {
        admitted.passGate();
      }
      return Optional.empty();
    }

    /** The message may be the application's, and read the context. */
    @Override
    protected Optional<MutableHttpResponse<?>> deny(LimitDeniedException denial) {
      Optional<MutableHttpResponse<?>> response =
          inContext(() -> gate.direct.flatMap(responder -> responder.respond(http, denial)));
      if (response.isEmpty()) {
        throw denial; // which the application answers
      }
      return response;
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
