// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Verdict;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.plan.CallValues;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.thread.CallerThreads.CallContext;
import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpRequest;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One call on its way to its method. {@link AdmissionControl} decides it once. Gate and guard
 * supply its origin and its continuation.
 *
 * @param <T> the result of the continuation, once the call is admitted or denied
 */
@Internal
public abstract class ArrivingCall<T> implements CallValues {

  private final LimitPlan whole;
  private final Optional<HttpRequest<?>> request;
  private final CallContext context;

  // Written before the store is asked, and read once it has answered.
  private LimitPlan plan;
  private @Nullable LimitRequest asked;

  /**
   * @param plan the plan of the method
   * @param request the request in whose name the call is made
   * @param context that of the call's thread
   */
  protected ArrivingCall(LimitPlan plan, Optional<HttpRequest<?>> request, CallContext context) {
    this.whole = plan;
    this.request = request;
    this.context = context;
    this.plan = plan;
  }

  /** Asks the store. */
  protected CompletionStage<Verdict> ask(LimitStore store, LimitRequest charges) {
    return store.decide(charges, Mode.ACQUIRE);
  }

  /** The call is decided: it is admitted, and may have to wait for its turn, or denied. */
  protected abstract void decided(LimitedCall decided);

  /** The admitted call begins to wait; {@link AdmissionControl#abandon} gives it up. */
  protected void waits(CompletableFuture<Void> turn) {}

  /** Continues with the admitted call once its turn has come. */
  protected abstract T proceed(LimitedCall admitted);

  /** Continues with the denial, or throws it. */
  protected abstract T deny(LimitDeniedException denial);

  @Override
  public final HttpRequest<?> requestFor(String what, String remedy) {
    if (request.isEmpty()) {
      throw new IllegalStateException(
          "%s: %s, and it was called outside of an HTTP request, for example by a job, or by a client that is not used by a request: %s"
              .formatted(whole.method(), what, remedy));
    }
    return request.get();
  }

  /** Runs code of the application in the context of the call. */
  public final <R> R inContext(Supplier<R> code) {
    return context.propagated().propagate(code);
  }

  /** The plan of the method. */
  public final LimitPlan whole() {
    return whole;
  }

  /** The plan by which this call is still to be decided. */
  protected LimitPlan undecided() {
    return whole;
  }

  /** The part of the plan that decides this call; before the decision, the whole. */
  public final LimitPlan plan() {
    return plan;
  }

  /** What the store was asked; null if the call is charged nothing. */
  public final @Nullable LimitRequest asked() {
    return asked;
  }

  @Override
  public final Optional<HttpRequest<?>> request() {
    return request;
  }

  /** The context of the call, which is not in force while its verdict is reported. */
  public final CallContext context() {
    return context;
  }

  /** Determines what the store is asked; empty if the call is charged nothing. */
  final Optional<LimitRequest> charge(LimitPlan part) {
    plan = part;
    Optional<LimitRequest> charges = part.request(this);
    asked = charges.orElse(null);
    return charges;
  }
}
