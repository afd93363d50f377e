// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.micronaut.denial.Rejections;
import io.limiter.micronaut.intercept.LimitInterceptor;
import io.micronaut.aop.InterceptedMethod;
import io.micronaut.aop.InterceptorBean;
import io.micronaut.aop.MethodInterceptor;
import io.micronaut.aop.MethodInvocationContext;
import io.micronaut.core.convert.ConversionService;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.context.ServerRequestContext;
import io.micronaut.http.server.exceptions.ExceptionHandler;
import jakarta.inject.Singleton;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Observes the method of a submission, from its begin to its end. It runs within the limits of the
 * method, and around caches, retries and transactions, which all happen within one submission. No
 * filter sees as much: once another filter has answered, none sees the end of the method.
 */
@InterceptorBean(Idempotent.class)
final class IdempotentInterceptor implements MethodInterceptor<Object, Object> {

  private final IdempotentRoutes routes;
  private final ConversionService conversions;

  IdempotentInterceptor(IdempotentRoutes routes, ConversionService conversions) {
    this.routes = routes;
    this.conversions = conversions;
  }

  @Override
  public int getOrder() {
    return LimitInterceptor.POSITION + 1;
  }

  /**
   * Finds the request where the route is called. Advice between this and {@link
   * IdempotentInterceptor} may go on with another thread, which does not know the request; the
   * method would then begin unseen, and its key would be free.
   */
  @InterceptorBean(Idempotent.class)
  static final class Caller implements MethodInterceptor<Object, Object> {

    private static final String ATTRIBUTE = "io.limiter.idempotency.caller";

    @Override
    public int getOrder() {
      return Ordered.HIGHEST_PRECEDENCE;
    }

    @Override
    public @Nullable Object intercept(MethodInvocationContext<Object, Object> context) {
      ServerRequestContext.currentRequest()
          .ifPresent(request -> context.setAttribute(ATTRIBUTE, request));
      return context.proceed();
    }

    static Optional<HttpRequest<?>> request(MethodInvocationContext<?, ?> context) {
      return context.getAttribute(ATTRIBUTE).map(request -> (HttpRequest<?>) request);
    }
  }

  /** The claim of a request was lost before its method began. */
  static final class ClaimLostException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    ClaimLostException() {
      super("The claim of an Idempotency-Key was lost before the method began");
    }
  }

  /** Responds as if the store were away: the request may be repeated. */
  @Singleton
  record ClaimLostHandler(Rejections rejections)
      implements ExceptionHandler<ClaimLostException, HttpResponse<?>> {

    @Override
    @SuppressWarnings("rawtypes") // as in the interface
    public HttpResponse<?> handle(HttpRequest request, ClaimLostException lost) {
      return rejections.reject(
          request, HttpStatus.SERVICE_UNAVAILABLE, IdempotencyFilter.UNAVAILABLE);
    }
  }

  @Override
  public @Nullable Object intercept(MethodInvocationContext<Object, Object> context) {
    KeyedRequest call = call(context);
    if (call == null) {
      return context.proceed();
    }
    InterceptedMethod method = InterceptedMethod.of(context, conversions);
    try {
      return switch (method.resultType()) {
        case SYNCHRONOUS -> synchronous(call, context);
        case COMPLETION_STAGE -> method.handleResult(stage(call, method));
        case PUBLISHER -> {
          Mono<Object> mono = mono(call, method);
          Class<?> returned = context.getReturnType().getType();
          // Micronaut would replace the context of its subscribers by that of this call, and does
          // not make a Flux of a Mono.
          if (returned.isInstance(mono)) {
            yield mono;
          }
          yield returned == Flux.class ? mono.flux() : method.handleResult(mono);
        }
      };
    } catch (Exception failure) {
      return method.handleException(failure);
    }
  }

  /** The request whose route this method is; null for other calls. */
  private @Nullable KeyedRequest call(MethodInvocationContext<Object, Object> context) {
    Terms terms = routes.of(context.getExecutableMethod());
    HttpRequest<?> request = Caller.request(context).orElse(null);
    if (terms == null || request == null) {
      return null;
    }
    if (!IdempotentRoutes.knows(request)) {
      throw IdempotentRoutes.replaced(); // its key would be free, although the method has run
    }
    return KeyedRequest.of(request)
        .filter(call -> call.terms().equals(terms) && call.isClaimed())
        .orElse(null);
  }

  private static void enter(KeyedRequest call) {
    if (!call.enter()) {
      throw new ClaimLostException();
    }
  }

  private static @Nullable Object synchronous(
      KeyedRequest call, MethodInvocationContext<Object, Object> context) {
    enter(call);
    Object result;
    try {
      result = context.proceed();
    } catch (Throwable failure) {
      call.threw();
      throw failure;
    }
    if (result instanceof Mono<?> mono) { // of a method that declares an Object
      return observed(call, mono);
    }
    call.returned(result);
    return result;
  }

  private CompletionStage<?> stage(KeyedRequest call, InterceptedMethod method) {
    enter(call);
    CompletionStage<?> begun;
    try {
      begun = method.interceptResultAsCompletionStage(this);
    } catch (Throwable failure) {
      call.threw();
      throw failure;
    }
    return begun.whenComplete(
        (result, failure) -> {
          if (failure == null) {
            call.returned(result);
          } else if (unwrapped(failure) instanceof CancellationException) {
            call.cancelled();
          } else {
            call.threw();
          }
        });
  }

  private static Throwable unwrapped(Throwable failure) {
    Throwable cause = failure.getCause();
    return failure instanceof CompletionException && cause != null ? cause : failure;
  }

  /** The server sends one item. */
  private Mono<Object> mono(KeyedRequest call, InterceptedMethod method) {
    return Mono.defer(
        () -> {
          enter(call);
          Publisher<?> begun;
          try {
            begun = method.interceptResultAsPublisher(this);
          } catch (Throwable failure) {
            call.threw();
            throw failure;
          }
          return observed(call, Mono.<Object>from(begun));
        });
  }

  private static <T> Mono<T> observed(KeyedRequest call, Mono<T> method) {
    return method
        .doOnSuccess(call::returned)
        .doOnError(failure -> call.threw())
        .doOnCancel(call::cancelled);
  }
}
