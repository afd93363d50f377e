// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.Subject;
import io.limiter.micronaut.call.AdmissionControl;
import io.limiter.micronaut.call.ArrivingCall;
import io.limiter.micronaut.call.LimitedCall;
import io.limiter.micronaut.config.CallerConfiguration.BlockConfiguration;
import io.limiter.micronaut.config.DenialConfiguration;
import io.limiter.micronaut.config.LimiterConfiguration.GateConfiguration;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.denial.Denial;
import io.limiter.micronaut.denial.DenialBody;
import io.limiter.micronaut.denial.DenialMessages;
import io.limiter.micronaut.denial.DirectBody;
import io.limiter.micronaut.denial.Rejection;
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
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpResponseFactory;
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
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The gate: rejects the requests of blocked callers, and decides those whose plan needs nothing but
 * the request, on the event loop of the request, without waiting, before arguments are bound or the
 * body is read. It decides after security, or before it for plans that ask for that, so that
 * guessed passwords are counted and denied before one is checked. An admitted request carries its
 * {@link LimitedCall} to the guard.
 */
@Internal
@ServerFilter(patterns = ServerFilter.MATCH_ALL_PATTERN, appendContextPath = false)
public final class GateFilter implements ConditionalFilter {

  /** After {@link ServerFilterPhase#SECURITY}, which finds the user. */
  public static final int ORDER = 39_250;

  /** Before {@link ServerFilterPhase#SECURITY}, after the session. */
  public static final int ORDER_BEFORE_SECURITY = 38_750;

  private static final String DISCONNECT = "io.limiter.disconnect";

  private static final CompletionStage<Optional<MutableHttpResponse<?>>> ENTER =
      CompletableFuture.completedFuture(Optional.empty());

  private final boolean decides;
  private final PlanRegistry plans;
  private final PoliciesConfiguration settings;
  private final CallerLists lists;
  private final UserWarnings users;
  private final RequestSubjects subjects;
  private final AdmissionControl admission;
  private final DirectDenials denials;
  private final ErrorResponseProcessor<?> errors;
  private final DenialConfiguration configuration;
  private final DenialMessages messages;
  private final DenialBody body;

  GateFilter(
      GateConfiguration gate,
      PlanRegistry plans,
      PoliciesConfiguration settings,
      CallerLists lists,
      UserWarnings users,
      RequestSubjects subjects,
      AdmissionControl admission,
      DirectDenials denials,
      ErrorResponseProcessor<?> errors,
      DenialConfiguration configuration,
      DenialMessages messages,
      DenialBody body) {
    this.decides = gate.enabled();
    this.plans = plans;
    this.settings = settings;
    this.lists = lists;
    this.users = users;
    this.subjects = subjects;
    this.admission = admission;
    this.denials = denials;
    this.errors = errors;
    this.configuration = configuration;
    this.messages = messages;
    this.body = body;
  }

  @Override
  public boolean isEnabled(HttpRequest<?> request) {
    return lists.isAnyBlocked() || plan(request) != null;
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

  /**
   * The response to a blocked caller, with a body like that of a denial. In the application's own
   * format the application may answer a status that Micronaut names.
   */
  private MutableHttpResponse<?> blocked(HttpRequest<?> request) {
    BlockConfiguration block = settings.current().blockResponse();
    String message =
        messages.render(
            block.message(),
            BlockConfiguration.DEFAULT_MESSAGE,
            request,
            () -> Map.of("path", request.getPath(), "method", request.getMethodName()));
    if (configuration.form() != DenialConfiguration.Body.APPLICATION
        && body instanceof DirectBody own) {
      Rejection.Plain rejection =
          new Rejection.Plain(
              request, block.status(), BlockConfiguration.CODE, message, Optional.empty());
      return own.reject(
          rejection, HttpResponseFactory.INSTANCE.status(block.status(), rejection.title()));
    }
    Optional<HttpStatus> named = Denial.named(block.status());
    if (named.isPresent()) {
      throw new HttpStatusException(named.get(), message);
    }
    return errors
        .processResponse(
            ErrorContext.builder(request).errorMessage(message).build(),
            HttpResponse.status(HttpStatus.FORBIDDEN))
        .status(block.status(), "Blocked");
  }

  private CompletionStage<Optional<MutableHttpResponse<?>>> decide(
      HttpRequest<?> request, LimitPlan plan) {
    admission.arrived(request);
    return admission.admit(new GateCall(this, request, plan));
  }

  /** The call of a request at the gate. */
  static class GateCall extends ArrivingCall<Optional<MutableHttpResponse<?>>> {

    private final GateFilter gate;
    private final HttpRequest<?> http;

    GateCall(GateFilter gate, HttpRequest<?> http, LimitPlan plan) {
      super(plan, Optional.of(http), CallContext.current());
      this.gate = gate;
      this.http = http;
    }

    @Override
    public Subject subject(SubjectSource source) {
      return gate.subjects.resolve(source, http);
    }

    @Override
    protected void decided(LimitedCall decided) {
      if (plan().countsUsers() && asked() != null) {
        gate.users.atGate(http, plan());
      }
      if (decided.isDenied()) {
        decided.atGuard(http);
        return;
      }
      if (plan() != whole()) {
        PlanRegistry.decideBy(plan(), http);
      }
      decided.atGate(http);
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
          inContext(() -> gate.denials.respond(http, denial));
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
