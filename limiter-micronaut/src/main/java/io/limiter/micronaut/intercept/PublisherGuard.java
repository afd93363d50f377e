// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import io.limiter.micronaut.call.LimitedCall;
import io.limiter.micronaut.call.LimitedCall.Event;
import io.limiter.micronaut.call.WithheldItems;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.util.context.ContextView;

/**
 * Guards a method that returns a Publisher: each subscription is a call of the request that
 * subscribes. Without one, it is a call of the request in which the publisher was made.
 */
final class PublisherGuard {

  private PublisherGuard() {}

  /** The calls of one publisher. */
  private static final class SubscribedCalls {

    private volatile GuardedCall made;

    SubscribedCalls(GuardedCall made) {
      this.made = made;
    }

    /**
     * The call of a subscription. Once another request has subscribed, the publisher no longer
     * refers to the request in which it was made, which it would keep in memory.
     */
    GuardedCall of(ContextView subscriber) {
      GuardedCall maker = made;
      GuardedCall call = maker.subscribed(subscriber);
      if (call.isOfAnotherThan(maker)) {
        made = maker.ofNoRequest();
      }
      return call;
    }
  }

  static Publisher<?> enter(GuardedCall made, Supplier<Publisher<?>> method) {
    SubscribedCalls calls = new SubscribedCalls(made);
    return made.single()
        ? Mono.deferContextual(subscriber -> single(calls.of(subscriber), method))
        : Flux.deferContextual(subscriber -> stream(calls.of(subscriber), method));
  }

  private static Mono<?> single(GuardedCall call, Supplier<Publisher<?>> method) {
    return Mono.defer(() -> admission(call).flatMap(admitted -> mono(call, admitted, method)))
        .onErrorResume(call::closesWebSocket, closed -> Mono.empty());
  }

  private static Flux<?> stream(GuardedCall call, Supplier<Publisher<?>> method) {
    return Flux.defer(() -> flux(call, method))
        .onErrorResume(call::closesWebSocket, closed -> Mono.empty());
  }

  /**
   * Guards a stream that is the response to a request. The call begins before the stream is
   * subscribed to, so a denial, or an exception of the method, is handled as for any route. The
   * response completes the call, by the end of the stream and the status that the client receives.
   */
  static Publisher<?> answer(GuardedCall call, Supplier<Publisher<?>> method) {
    LimitedCall admitted = call.awaitArrival();
    Publisher<?> begun = begin(call, admitted, method);
    AtomicReference<@Nullable Flux<Object>> first =
        new AtomicReference<>(
            admitted.hasResponse() ? noted(call, admitted, begun) : guarded(call, admitted, begun));
    SubscribedCalls calls = new SubscribedCalls(call);
    return Flux.deferContextual(
        subscriber -> {
          Flux<Object> answer = first.getAndSet(null);
          return answer == null ? flux(calls.of(subscriber), method) : answer;
        });
  }

  /** The method has returned, but its stream goes on. If the stream fails, so does the method. */
  private static Flux<Object> noted(GuardedCall call, LimitedCall admitted, Publisher<?> begun) {
    admitted.on(new Event.Returned(null));
    return admitted.items(begun, call).doOnError(failure -> admitted.on(Event.Plain.THREW));
  }

  /**
   * An exception of the method is handled as for any route, and the response completes the call.
   */
  private static Publisher<?> begin(
      GuardedCall call, LimitedCall admitted, Supplier<Publisher<?>> method) {
    try {
      return call.enter(admitted, method);
    } catch (Throwable failure) {
      call.awaitOn(admitted, Event.Plain.THREW);
      throw failure;
    }
  }

  /** A subscriber that cancels before the decision, or while the method runs, frees its permits. */
  private static Mono<LimitedCall> admission(GuardedCall call) {
    CompletableFuture<LimitedCall> arrived = call.arrive();
    boolean suppressCancel = true;
    Mono<LimitedCall> admitted = Mono.fromFuture(arrived, suppressCancel);
    return !call.endMatters()
        ? admitted
        : admitted.doOnCancel(
            () -> {
              call.leave();
              var unused = arrived.thenAccept(left -> left.on(Event.Plain.CANCELLED));
            });
  }

  private static Mono<?> mono(
      GuardedCall call, LimitedCall admitted, Supplier<Publisher<?>> method) {
    Mono<Object> result =
        Mono.<Object>defer(() -> Mono.fromDirect(inContext(call, admitted, method)));
    if (!admitted.isOver()) {
      result =
          Mono.fromDirect(
                  new WithheldItems(
                      result.map(value -> call.result(admitted, value)),
                      value ->
                          call.resume(call.returned(admitted, value)).thenApply(reported -> true),
                      Optional::empty))
              .switchIfEmpty(Mono.defer(() -> returned(call, admitted, null).then(Mono.empty())));
    }
    return result.onErrorResume(failure -> fail(call, admitted, failure));
  }

  private static Flux<Object> flux(GuardedCall call, Supplier<Publisher<?>> method) {
    return admission(call)
        .flatMapMany(
            admitted ->
                guarded(
                    call,
                    admitted,
                    Flux.<Object>defer(() -> Flux.from(inContext(call, admitted, method)))));
  }

  /** The call completes with its stream, since no response completes it. */
  private static Flux<Object> guarded(GuardedCall call, LimitedCall admitted, Publisher<?> method) {
    admitted.detach();
    return completed(call, admitted, admitted.items(method, call));
  }

  private static Flux<Object> completed(
      GuardedCall call, LimitedCall admitted, Flux<Object> items) {
    Flux<Object> all = items;
    if (!admitted.isOver()) {
      all =
          items
              .concatWith(Mono.defer(() -> returned(call, admitted, null).then(Mono.empty())))
              .doOnCancel(() -> admitted.on(Event.Plain.CANCELLED));
    }
    return all.onErrorResume(failure -> fail(call, admitted, failure));
  }

  /**
   * A stream in what the method has returned, such as the body of a response. Of a route the
   * response completes the call, of another method the end of the stream does.
   */
  static Publisher<?> inResult(GuardedCall call, LimitedCall admitted, Publisher<?> stream) {
    AtomicBoolean subscribed = new AtomicBoolean();
    Flux<Object> items =
        admitted.hasResponse()
            ? admitted.items(stream, call)
            : completed(call, admitted, admitted.items(stream, call));
    return Flux.defer(
        () ->
            subscribed.getAndSet(true)
                ? Flux.error(
                    new IllegalStateException(
                        "The stream that a limited method has returned was read before: call the method again"))
                : items);
  }

  private static Mono<Void> returned(
      GuardedCall call, LimitedCall admitted, @Nullable Object result) {
    return Mono.fromCompletionStage(call.on(admitted, new Event.Returned(result)));
  }

  /** Both the method and what happens on subscription are the application's code. */
  private static Publisher<Object> inContext(
      GuardedCall call, LimitedCall admitted, Supplier<Publisher<?>> method) {
    Publisher<?> result = call.enter(admitted, method);
    return subscriber ->
        call.inContext(
            () -> {
              Flux.<Object>from(result).subscribe(subscriber);
              return subscriber;
            });
  }

  private static <T> Mono<T> fail(GuardedCall call, LimitedCall admitted, Throwable failure) {
    return Mono.fromCompletionStage(call.on(admitted, Event.Plain.THREW)).then(Mono.error(failure));
  }
}
