// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.LimitRequest;
import io.limiter.core.Verdict;
import io.limiter.core.store.LimitStore;
import io.limiter.micronaut.call.AdmittedCall;
import io.limiter.micronaut.call.CallEnds;
import io.limiter.micronaut.call.RequestDecision;
import io.limiter.micronaut.call.StoreAnswer;
import io.limiter.micronaut.call.TurnQueue;
import io.limiter.micronaut.config.GateConfiguration;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.plan.Cost;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.RoutePlans;
import io.limiter.micronaut.plan.Submissions;
import io.limiter.micronaut.subject.RequestSubjects;
import io.limiter.micronaut.thread.CallerThreads;
import io.micronaut.core.propagation.PropagatedContext;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MutableHttpResponse;
import jakarta.inject.Singleton;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * The gates' decision on a request whose plan needs nothing but the request: on the request's own
 * event loop, without waiting. An admitted request carries a ticket on which the guard enters the
 * method.
 */
@Singleton
final class GateDecision {

  private static final CompletionStage<Optional<MutableHttpResponse<?>>> ENTER =
      CompletableFuture.completedFuture(Optional.empty());

  private final RoutePlans routes;
  private final RequestSubjects subjects;
  private final LimitStore store;
  private final CallerThreads threads;
  private final CallEnds ends;
  private final TurnQueue turns;
  private final GateConfiguration gate;
  private final DirectDenials answers;
  private final UserWarnings users;
  private final CutConnections cut;

  GateDecision(
      RoutePlans routes,
      RequestSubjects subjects,
      LimitStore store,
      CallerThreads threads,
      CallEnds ends,
      TurnQueue turns,
      GateConfiguration gate,
      DirectDenials answers,
      UserWarnings users,
      CutConnections cut) {
    this.routes = routes;
    this.subjects = subjects;
    this.store = store;
    this.threads = threads;
    this.ends = ends;
    this.turns = turns;
    this.gate = gate;
    this.answers = answers;
    this.users = users;
    this.cut = cut;
  }

  /**
   * The plan by which a request is decided at one of the gates; empty if it is not.
   *
   * @param beforeSecurity which gate: that before security, or that behind it
   */
  Optional<LimitPlan> plan(HttpRequest<?> request, boolean beforeSecurity) {
    if (!gate.decides()) {
      return Optional.empty();
    }
    Optional<LimitPlan> plan = routes.of(request);
    return plan.isPresent()
            && plan.get().decidedByRequest()
            && plan.get().beforeSecurity() == beforeSecurity
        ? plan
        : Optional.empty();
  }

  /**
   * Gives the answer to a refused request, or none. Not a nullable one: a filter's stage that
   * completes with null is lost. What is decided without asking anybody goes on at once.
   */
  CompletionStage<Optional<MutableHttpResponse<?>>> decide(
      HttpRequest<?> request, boolean beforeSecurity) {
    // Asked again: Micronaut runs filters that are not enabled where another is @PreMatching.
    Optional<LimitPlan> found = plan(request, beforeSecurity);
    return found.isPresent() ? decide(request, found.get()) : ENTER;
  }

  /** The same for a request that is limited by this plan. */
  CompletionStage<Optional<MutableHttpResponse<?>>> decide(HttpRequest<?> request, LimitPlan plan) {
    Optional<LimitRequest> asked =
        plan.request(
            source -> subjects.resolve(source, request),
            submission -> Submissions.byRequest(submission, request),
            Cost::byRequest);
    if (asked.isEmpty()) {
      RequestDecision.issue(request, plan, Verdict.free(plan.policy()), AdmittedCall.NOTHING);
      return ENTER;
    }
    users.atGate(request, plan);
    PropagatedContext context = PropagatedContext.getOrEmpty();
    CompletionStage<Verdict> decision = StoreAnswer.ask(store, asked.get(), plan);
    return threads
        .inOrder(decision, Optional.of(request))
        .thenCompose(
            verdict -> decided(request, plan, StoreAnswer.present(verdict, plan), context));
  }

  private CompletionStage<Optional<MutableHttpResponse<?>>> decided(
      HttpRequest<?> request, LimitPlan plan, Verdict verdict, PropagatedContext context) {
    if (plan.admits(verdict)) {
      RequestDecision ticket =
          RequestDecision.issue(request, plan, verdict, ends.begin(plan, verdict));
      if (plan.countsByEnd() || verdict.duplicate().isPresent()) {
        cut.watch(request, ticket);
      }
      return verdict.delay().isZero() ? ENTER : inTurn(request, ticket);
    }
    RequestDecision.refuse(request, plan, verdict);
    LimitDeniedException denied = LimitDeniedException.of(verdict, plan.text(verdict));
    try (PropagatedContext.Scope ignored = context.propagate()) { // words may be the application's
      Optional<MutableHttpResponse<?>> answer = answers.answer(request, denied);
      if (answer.isEmpty()) {
        throw denied;
      }
      return CompletableFuture.completedFuture(answer);
    }
  }

  private CompletionStage<Optional<MutableHttpResponse<?>>> inTurn(
      HttpRequest<?> request, RequestDecision ticket) {
    Optional<HttpRequest<?>> waiting = Optional.of(request);
    CompletableFuture<Void> turn =
        turns
            .in(ticket.verdict().delay(), waiting)
            .whenComplete(
                (now, abandoned) -> {
                  if (abandoned != null) {
                    ticket.end().abandoned();
                  }
                });
    return threads.back(turn, waiting).thenApply(now -> Optional.empty());
  }
}
