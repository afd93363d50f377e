// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import io.limiter.micronaut.annotation.Limited;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.LimitPlans;
import io.micronaut.aop.InterceptPhase;
import io.micronaut.aop.InterceptedMethod;
import io.micronaut.aop.InterceptorBean;
import io.micronaut.aop.MethodInterceptor;
import io.micronaut.aop.MethodInvocationContext;
import io.micronaut.core.convert.ConversionService;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;

/**
 * Enters a limited method only on a verdict: the gate's, handed over on the request, or one of its
 * own. It runs behind validation, so that arguments in keys are valid and invalid calls cost
 * nothing, and before caches, retries and transactions, which all happen within one call.
 */
@InterceptorBean(Limited.class)
public final class LimitInterceptor implements MethodInterceptor<Object, Object> {

  /** Behind {@link InterceptPhase#VALIDATE}, before {@link InterceptPhase#CACHE}. */
  public static final int POSITION = InterceptPhase.VALIDATE.getPosition() + 10;

  private final LimitPlans plans;
  private final GuardedCalls calls;
  private final ConversionService conversions;

  LimitInterceptor(LimitPlans plans, GuardedCalls calls, ConversionService conversions) {
    this.plans = plans;
    this.calls = calls;
    this.conversions = conversions;
  }

  @Override
  public int getOrder() {
    return POSITION;
  }

  @Override
  public @Nullable Object intercept(MethodInvocationContext<Object, Object> context) {
    Optional<LimitPlan> plan = plans.of(context.getExecutableMethod());
    if (plan.isEmpty()) {
      return context.proceed();
    }
    return enter(calls.begin(context, plan.get()), context);
  }

  /** Enters the method of this call. */
  @Nullable Object enter(GuardedCall call, MethodInvocationContext<Object, Object> context) {
    InterceptedMethod method = InterceptedMethod.of(context, conversions);
    if (method.resultType() == InterceptedMethod.ResultType.PUBLISHER && call.streamsAnswer()) {
      // Outside of the try: a denial is thrown, since an error inside of a stream comes too late.
      return published(
          method,
          context,
          PublisherGuard.answer(call, () -> method.interceptResultAsPublisher(this)));
    }
    try {
      return switch (method.resultType()) {
        case SYNCHRONOUS -> SynchronousGuard.enter(call, context::proceed);
        case COMPLETION_STAGE ->
            method.handleResult(
                StageGuard.enter(call, () -> method.interceptResultAsCompletionStage(this)));
        case PUBLISHER ->
            published(
                method,
                context,
                PublisherGuard.enter(call, () -> method.interceptResultAsPublisher(this)));
      };
    } catch (Exception e) {
      return method.handleException(e);
    }
  }

  /**
   * As the type that the method returns. What is of that type already is left alone: Micronaut
   * would hide the context of its subscribers behind that of this call.
   */
  private static @Nullable Object published(
      InterceptedMethod method, MethodInvocationContext<?, ?> context, Publisher<?> publisher) {
    return context.getReturnType().getType().isInstance(publisher)
        ? publisher
        : method.handleResult(publisher);
  }
}
