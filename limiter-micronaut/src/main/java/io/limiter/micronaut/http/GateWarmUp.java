// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.LimitRequest;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
import io.limiter.micronaut.call.AdmissionControl;
import io.limiter.micronaut.call.LimitedCall;
import io.limiter.micronaut.denial.DenialBody;
import io.limiter.micronaut.denial.DenialMessages;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlanRegistry;
import io.limiter.micronaut.subject.SubjectSource;
import io.limiter.micronaut.thread.WarmUpStep;
import io.micronaut.context.BeanContext;
import io.micronaut.context.MessageSource;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpMethod;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.context.event.HttpRequestTerminatedEvent;
import io.micronaut.http.server.exceptions.response.ErrorResponseProcessor;
import io.micronaut.http.server.exceptions.response.JsonErrorResponseBodyProvider;
import io.micronaut.http.server.util.locale.HttpLocaleResolver;
import io.micronaut.http.simple.SimpleHttpRequest;
import io.micronaut.runtime.server.EmbeddedServer;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;

/**
 * Passes the gate: with an admission, a denial, another admission and a duplicate. Once the server
 * listens, it passes the response filter as well: no deadline includes a response, and the first
 * may load the application's JSON mapper, which takes longer than all else here. Where the
 * application has replaced a part that makes the response, none is made.
 */
@Singleton
@Requires(beans = EmbeddedServer.class)
final class GateWarmUp implements WarmUpStep {

  private final BeanContext beans;
  private final GateFilter gate;
  private final AdmissionControl admission;
  private final PlanRegistry plans;
  private final LimitedResponseFilter responses;

  GateWarmUp(
      BeanContext beans,
      GateFilter gate,
      AdmissionControl admission,
      PlanRegistry plans,
      LimitedResponseFilter responses) {
    this.beans = beans;
    this.gate = gate;
    this.admission = admission;
    this.plans = plans;
    this.responses = responses;
  }

  @Override
  public CompletionStage<?> run(LimitStore store) {
    return requests(store, false);
  }

  @Override
  public CompletionStage<?> respond(LimitStore store) {
    return Stream.of(
                RateLimitFields.class,
                LimitDeniedHandler.class,
                DenialBody.class,
                DenialMessages.class,
                MessageSource.class,
                HttpLocaleResolver.class,
                ErrorResponseProcessor.class,
                JsonErrorResponseBodyProvider.class)
            .flatMap(part -> beans.getBeansOfType(part).stream())
            .allMatch(GateWarmUp::isOurs)
        ? requests(store, true)
        : CompletableFuture.completedFuture(null);
  }

  private static boolean isOurs(Object bean) {
    String type = bean.getClass().getPackageName();
    return type.startsWith("io.micronaut.")
        || type.equals(GateWarmUp.class.getPackageName())
        || type.equals(DenialMessages.class.getPackageName());
  }

  private CompletionStage<Void> requests(LimitStore store, boolean answered) {
    LimitPlan limited = plans.ofWarmUp(false);
    LimitPlan submitted = plans.ofWarmUp(true);
    CompletionStage<Void> requests = CompletableFuture.completedFuture(null);
    for (LimitPlan plan : List.of(limited, limited, submitted, submitted)) {
      requests = requests.thenCompose(before -> request(store, plan, answered));
    }
    return requests;
  }

  private CompletionStage<Void> request(LimitStore store, LimitPlan plan, boolean answered) {
    HttpRequest<?> request = new SimpleHttpRequest<>(HttpMethod.GET, "/" + POLICY, null);
    var unused = gate.isEnabled(request);
    CompletionStage<Optional<MutableHttpResponse<?>>> admitted =
        admission.admit(new WarmUpCall(store, request, plan, answered));
    return answered
        ? admitted.thenCompose(denial -> respond(request, denial))
        : admitted.thenAccept(ended -> {});
  }

  private CompletionStage<Void> respond(
      HttpRequest<?> request, Optional<MutableHttpResponse<?>> denial) {
    MutableHttpResponse<?> response = denial.isPresent() ? denial.get() : HttpResponse.ok();
    return responses
        .respond(request, response)
        .thenCompose(stated -> responses.answer(request, response))
        .thenAccept(ended -> responses.onApplicationEvent(new HttpRequestTerminatedEvent(request)));
  }

  /** A request that another store decides. */
  private final class WarmUpCall extends GateFilter.GateCall {

    private final LimitStore store;
    private final boolean answered;

    WarmUpCall(LimitStore store, HttpRequest<?> request, LimitPlan plan, boolean answered) {
      super(gate, request, plan, new Object[0]);
      this.store = store;
      this.answered = answered;
    }

    @Override
    public Subject subject(SubjectSource source) {
      return super.subject(new SubjectSource.Everybody());
    }

    @Override
    protected CompletionStage<Verdict> ask(LimitStore usual, LimitRequest charges) {
      return store.decide(charges, Mode.ACQUIRE);
    }

    @Override
    protected boolean isReported() {
      return false;
    }

    /** Enters the method like the guard: a submission whose method is not entered is released. */
    @Override
    protected Optional<MutableHttpResponse<?>> proceed(LimitedCall admitted) {
      if (admitted.enter(this)) {
        var unused = admitted.on(new LimitedCall.Event.Returned(null));
      }
      return super.proceed(admitted);
    }

    @Override
    protected Optional<MutableHttpResponse<?>> deny(LimitDeniedException denial) {
      return answered ? super.deny(denial) : Optional.empty();
    }
  }
}
