// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import io.limiter.core.LimitRequest;
import io.limiter.core.Verdict;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.StoreAnswer;
import io.limiter.micronaut.plan.Ticket;
import io.limiter.micronaut.thread.CallerThreads;
import io.micronaut.aop.MethodInvocationContext;
import io.micronaut.core.propagation.PropagatedContext;
import io.micronaut.http.HttpRequest;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** One call of a limited method. */
final class GuardedCall {

  private final GuardedCalls parts;
  private final MethodInvocationContext<Object, Object> context;
  private final LimitPlan plan;
  private final Optional<HttpRequest<?>> request;
  private final PropagatedContext propagated = PropagatedContext.getOrEmpty();
  private final AtomicReference<@Nullable Admission> granted = new AtomicReference<>();

  GuardedCall(
      GuardedCalls parts,
      MethodInvocationContext<Object, Object> context,
      LimitPlan plan,
      Optional<? extends HttpRequest<?>> request) {
    this.parts = parts;
    this.context = context;
    this.plan = plan;
    this.request = request.map(http -> http);
    this.request
        .flatMap(http -> Ticket.take(http, plan))
        .ifPresent(
            ticket -> granted.set(new Admission(plan, ticket.verdict(), Optional.of(ticket))));
  }

  /**
   * The admission that came with the request, once; else a decision of its own. Completes on the
   * caller's executor.
   */
  CompletionStage<Admission> admission() {
    Admission ready = granted.getAndSet(null);
    return ready != null
        ? CompletableFuture.completedFuture(ready)
        : parts.threads().back(decide(), request).thenApply(this::admit);
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
    return admit(parts.threads().await(decide(), plan.method()));
  }

  /**
   * Whether the result is streamed as the answer to a request. Then it is decided at once: an
   * answer that has begun cannot become a denial. Who has no admission yet waits for it, which is
   * why such routes are moved to a thread that may.
   */
  boolean streamsAnswer() {
    return !single() && isRoute();
  }

  /** Runs code of the application as if on the thread that made the call. */
  <T> T inContext(Supplier<T> code) {
    try (PropagatedContext.Scope ignored = propagated.propagate()) {
      return code.get();
    }
  }

  boolean single() {
    return context.getReturnType().isSingleResult();
  }

  /** Releases what a failed call holds; completes on the caller's executor. */
  CompletionStage<Void> release(Admission admission) {
    return parts.threads().back(admission.release(), request);
  }

  /**
   * The same for a caller that waits. On a thread that must not, the answer sees to it, or it goes
   * on by itself.
   */
  void awaitRelease(Admission admission) {
    if (admission.ticket().isEmpty()) {
      CompletionStage<Void> release = admission.release();
      CallerThreads threads = parts.threads();
      if (!threads.mustNotBlock()) {
        threads.await(release, plan.method());
      }
    }
  }

  private CompletionStage<Verdict> decide() {
    Optional<LimitRequest> asked = parts.subjects().request(context, plan, request);
    return asked.isPresent()
        ? StoreAnswer.ask(parts.store(), asked.get(), plan)
        : CompletableFuture.completedFuture(Verdict.free(plan.policy()));
  }

  private Admission admit(@Nullable Verdict answer) {
    Verdict verdict = StoreAnswer.present(answer, plan);
    if (!verdict.allowed()) {
      if (isRoute()) {
        request.ifPresent(http -> Ticket.refuse(http, plan, verdict));
      }
      throw LimitDeniedException.of(verdict, plan.text(verdict));
    }
    Optional<Ticket> ticket =
        isRoute() ? request.map(http -> Ticket.record(http, plan, verdict)) : Optional.empty();
    return new Admission(plan, verdict, ticket);
  }

  private boolean isRoute() {
    return request.flatMap(parts.routes()::of).filter(plan::equals).isPresent();
  }
}
