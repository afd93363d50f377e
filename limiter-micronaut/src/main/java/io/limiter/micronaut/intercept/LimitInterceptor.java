// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import io.limiter.micronaut.annotation.Limited;
import io.limiter.micronaut.call.LimitedCall;
import io.limiter.micronaut.call.LimitedCall.Event;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlanRegistry;
import io.micronaut.aop.InterceptPhase;
import io.micronaut.aop.InterceptedMethod;
import io.micronaut.aop.InterceptorBean;
import io.micronaut.aop.MethodInterceptor;
import io.micronaut.aop.MethodInvocationContext;
import io.micronaut.core.convert.ConversionService;
import io.micronaut.core.type.ReturnType;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.context.ServerRequestContext;
import io.micronaut.scheduling.annotation.Async;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;

/**
 * Enters a limited method only on a verdict: the gate's, handed over on the request, or one of its
 * own. It runs after validation, so that arguments in keys are valid and invalid calls cost
 * nothing, and before caches, retries and transactions, which all happen within one call.
 */
@InterceptorBean(Limited.class)
public final class LimitInterceptor implements MethodInterceptor<Object, Object> {

  /** After {@link InterceptPhase#VALIDATE}, before {@link InterceptPhase#CACHE}. */
  public static final int POSITION = InterceptPhase.VALIDATE.getPosition() + 10;

  private final PlanRegistry plans;
  private final GuardedCall.Parts parts;
  private final ConversionService conversions;

  LimitInterceptor(PlanRegistry plans, GuardedCall.Parts parts, ConversionService conversions) {
    this.plans = plans;
    this.parts = parts;
    this.conversions = conversions;
  }

  @Override
  public int getOrder() {
    return POSITION;
  }

  @Override
  public @Nullable Object intercept(MethodInvocationContext<Object, Object> context) {
    Optional<HttpRequest<?>> request =
        Optional.ofNullable(ServerRequestContext.currentRequest().orElse(null));
    Optional<LimitPlan> plan =
        plans.of(context.getExecutableMethod(), context.getTarget(), request);
    if (plan.isEmpty()) {
      return context.proceed();
    }
    if (request.isPresent() && plan.get().endsAtGate() && isSynchronous(context)) {
      if (LimitedCall.claim(request.get(), plan.get()).isPresent()) {
        return context.proceed();
      }
    }
    return enter(new GuardedCall(parts, context, plan.get(), request), context);
  }

  private static boolean isSynchronous(MethodInvocationContext<?, ?> context) {
    ReturnType<?> returned = context.getReturnType();
    return !returned.isAsyncOrReactive()
        && !returned.isSuspended()
        && !PlanRegistry.isOfWebSocket(context.getExecutableMethod());
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
   * Converts a publisher to the type that the method returns. One of that type is left alone:
   * Micronaut would replace the context of its subscribers by that of this call.
   */
  private static @Nullable Object published(
      InterceptedMethod method, MethodInvocationContext<?, ?> context, Publisher<?> publisher) {
    return context.getReturnType().getType().isInstance(publisher)
        ? publisher
        : method.handleResult(publisher);
  }

  /** Guards a method that returns a CompletionStage. */
  static final class StageGuard {

    private StageGuard() {}

    static CompletionStage<@Nullable Object> enter(
        GuardedCall call, Supplier<CompletionStage<?>> method) {
      CompletableFuture<@Nullable Object> result =
          call.arrive().thenCompose(admitted -> run(call, admitted, method));
      if (call.mayWait()) {
        var unused =
            result.whenComplete(
                (value, failure) -> {
                  if (result.isCancelled()) {
                    call.leave();
                  }
                });
      }
      return call.isOfWebSocket() ? result.exceptionally(failure -> closed(call, failure)) : result;
    }

    private static @Nullable Object closed(GuardedCall call, Throwable failure) {
      if (call.closesWebSocket(failure)) {
        return null;
      }
      throw failure instanceof CompletionException wrapped
          ? wrapped
          : new CompletionException(failure);
    }

    private static CompletionStage<@Nullable Object> run(
        GuardedCall call, LimitedCall admitted, Supplier<CompletionStage<?>> method) {
      return begin(call, admitted, method)
          .<CompletionStage<@Nullable Object>>handle(
              (result, failure) ->
                  failure == null
                      ? returned(call, admitted, call.result(admitted, result))
                      : call.on(admitted, Event.Plain.THREW)
                          .thenCompose(reported -> CompletableFuture.failedFuture(failure)))
          .thenCompose(Function.identity());
    }

    private static CompletionStage<@Nullable Object> returned(
        GuardedCall call, LimitedCall admitted, @Nullable Object result) {
      return call.resume(call.returned(admitted, result)).thenApply(reported -> result);
    }

    private static CompletionStage<?> begin(
        GuardedCall call, LimitedCall admitted, Supplier<CompletionStage<?>> method) {
      try {
        return call.enter(admitted, method);
      } catch (Throwable failure) {
        return CompletableFuture.failedFuture(failure);
      }
    }
  }

  /** Guards a method that returns its result itself. */
  static final class SynchronousGuard {

    private SynchronousGuard() {}

    static @Nullable Object enter(GuardedCall call, Supplier<@Nullable Object> method) {
      LimitedCall admitted;
      try {
        admitted = call.awaitArrival();
      } catch (LimitDeniedException denied) {
        if (call.closesWebSocket(denied)) {
          return null;
        }
        throw denied;
      }
      if (call.isHandedOn()) {
        admitted.detach();
        return handOn(call, admitted, method);
      }
      return run(call, admitted, () -> call.enter(admitted, method));
    }

    /**
     * The thread that runs the method completes the call. If no thread accepts it, this thread
     * does.
     */
    private static @Nullable Object handOn(
        GuardedCall call, LimitedCall admitted, Supplier<@Nullable Object> method) {
      call.handOn(rest -> run(call, admitted, rest));
      try {
        return call.enter(admitted, method);
      } catch (Throwable failure) {
        failed(call, admitted, failure);
        throw failure;
      }
    }

    private static @Nullable Object run(
        GuardedCall call, LimitedCall admitted, Supplier<@Nullable Object> method) {
      Object result;
      try {
        result = method.get();
      } catch (Throwable failure) {
        failed(call, admitted, failure);
        throw failure;
      }
      result = call.result(admitted, result);
      call.await(call.returned(admitted, result));
      return result;
    }

    /** The method's exception takes precedence. */
    private static void failed(GuardedCall call, LimitedCall admitted, Throwable failure) {
      try {
        call.awaitOn(admitted, Event.Plain.THREW);
      } catch (RuntimeException second) {
        failure.addSuppressed(second);
      }
    }
  }

  /**
   * Completes the call of a limited {@link Async} method that returns void, on the thread that runs
   * the method. The guard cannot, since for it the method ends as soon as the executor accepts it.
   */
  @InterceptorBean(Async.class)
  static final class AsyncCompletion implements MethodInterceptor<Object, Object> {

    /** After {@link InterceptPhase#ASYNC}, before {@link InterceptPhase#TRANSACTION}. */
    static final int POSITION = InterceptPhase.ASYNC.getPosition() + 10;

    private static final String ATTRIBUTE = "io.limiter.async";

    /** Runs the rest of a call, and completes it. */
    @FunctionalInterface
    interface Rest {
      @Nullable Object run(Supplier<@Nullable Object> method);
    }

    /** Whether calls of this method end after they have left the guard. */
    static boolean sees(MethodInvocationContext<?, ?> context) {
      return context.getReturnType().isVoid() && context.hasStereotype(Async.class);
    }

    /** Makes the thread that runs the method complete the call. */
    static void handOn(MethodInvocationContext<?, ?> context, Rest rest) {
      context.setAttribute(ATTRIBUTE, rest);
    }

    @Override
    public int getOrder() {
      return POSITION;
    }

    @Override
    public @Nullable Object intercept(MethodInvocationContext<Object, Object> context) {
      return context.getAttribute(ATTRIBUTE).orElse(null) instanceof Rest rest
          ? rest.run(context::proceed)
          : context.proceed();
    }
  }
}
