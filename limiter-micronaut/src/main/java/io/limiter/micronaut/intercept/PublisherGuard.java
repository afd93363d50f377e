// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.util.context.ContextView;

/**
 * Guards a method that returns a Publisher: each subscription is a call, of the request that
 * subscribes. One without a request is a call of the request in which the publisher was made.
 */
final class PublisherGuard {

  private PublisherGuard() {}

  /** The calls of one publisher. */
  private static final class Calls {

    private volatile GuardedCall made;

    Calls(GuardedCall made) {
      this.made = made;
    }

    /**
     * The call of a subscription. From the first of another request on the publisher is none of the
     * request's that it was made in, which it would keep for as long as it is kept itself.
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
    Calls calls = new Calls(made);
    return made.single()
        ? Mono.deferContextual(subscriber -> single(calls.of(subscriber), method))
        : Flux.deferContextual(subscriber -> stream(calls.of(subscriber), method));
  }

  private static Mono<?> single(GuardedCall call, Supplier<Publisher<?>> method) {
    return Mono.defer(() -> admission(call).flatMap(admission -> mono(call, admission, method)))
        .onErrorResume(call::closesWebSocket, closed -> Mono.empty());
  }

  private static Flux<?> stream(GuardedCall call, Supplier<Publisher<?>> method) {
    return Flux.defer(() -> flux(call, method))
        .onErrorResume(call::closesWebSocket, closed -> Mono.empty());
  }

  /**
   * Guards a stream that is the answer to a request. It begins with that answer, before it is
   * subscribed to: so a denial, or what the method throws, is still answered as for any route. The
   * answer sees the end of the stream, and which status its client gets.
   */
  static Publisher<?> answer(GuardedCall call, Supplier<Publisher<?>> method) {
    Admission admission = call.awaitAdmission();
    Publisher<?> begun = begin(call, admission, method);
    AtomicReference<@Nullable Flux<Object>> first =
        new AtomicReference<>(
            admission.answered() ? noted(admission, begun) : guarded(call, admission, begun));
    Calls calls = new Calls(call);
    return Flux.deferContextual(
        subscriber -> {
          Flux<Object> answer = first.getAndSet(null);
          return answer == null ? flux(calls.of(subscriber), method) : answer;
        });
  }

  /** The method is over, though not its stream, whose failure is that of the method. */
  private static Flux<Object> noted(Admission admission, Publisher<?> begun) {
    var unused = admission.returned(null);
    return Flux.<Object>from(begun)
        .doOnError(
            failure -> {
              var unusedToo = admission.failed();
            });
  }

  /** What it throws is answered as for any route, and the answer sees to the call's end. */
  private static Publisher<?> begin(
      GuardedCall call, Admission admission, Supplier<Publisher<?>> method) {
    try {
      return call.enter(admission, method);
    } catch (Throwable failure) {
      call.awaitFailed(admission);
      throw failure;
    }
  }

  /** Who goes away while it is decided, or while the method runs, frees what the call holds. */
  private static Mono<Admission> admission(GuardedCall call) {
    ArrivingCall arrival = call.arrive();
    boolean goesOnIfCancelled = true;
    Mono<Admission> admission = Mono.fromFuture(arrival.admission(), goesOnIfCancelled);
    return !call.endMatters()
        ? admission
        : admission.doOnCancel(
            () -> {
              arrival.leave();
              var unused = arrival.admission().thenAccept(Admission::cancelled);
            });
  }

  private static Mono<?> mono(
      GuardedCall call, Admission admission, Supplier<Publisher<?>> method) {
    Mono<Object> result =
        Mono.<Object>defer(() -> Mono.fromDirect(inContext(call, admission, method)));
    if (!admission.end().isOver()) {
      result =
          result
              .flatMap(value -> returned(call, admission, value).thenReturn(value))
              .switchIfEmpty(Mono.defer(() -> returned(call, admission, null).then(Mono.empty())));
    }
    return result.onErrorResume(failure -> fail(call, admission, failure));
  }

  private static Flux<Object> flux(GuardedCall call, Supplier<Publisher<?>> method) {
    return admission(call)
        .flatMapMany(
            admission -> {
              return guarded(
                  call,
                  admission,
                  Flux.<Object>defer(() -> Flux.from(inContext(call, admission, method))));
            });
  }

  /** The call is over with its stream, which no answer sees to. */
  private static Flux<Object> guarded(GuardedCall call, Admission admitted, Publisher<?> method) {
    Admission admission = admitted.streamed();
    Flux<Object> items = Flux.from(method);
    if (!admission.end().isOver()) {
      items =
          items
              .concatWith(Mono.defer(() -> returned(call, admission, null).then(Mono.empty())))
              .doOnCancel(admission::cancelled);
    }
    return items.onErrorResume(failure -> fail(call, admission, failure));
  }

  private static Mono<Void> returned(
      GuardedCall call, Admission admission, @Nullable Object result) {
    return Mono.fromCompletionStage(call.returned(admission, result));
  }

  /** Both the method and what happens on subscription are the application's code. */
  private static Publisher<Object> inContext(
      GuardedCall call, Admission admission, Supplier<Publisher<?>> method) {
    Publisher<?> result = call.enter(admission, method);
    return subscriber ->
        call.inContext(
            () -> {
              Flux.<Object>from(result).subscribe(subscriber);
              return subscriber;
            });
  }

  private static <T> Mono<T> fail(GuardedCall call, Admission admission, Throwable failure) {
    return Mono.fromCompletionStage(call.failed(admission)).then(Mono.error(failure));
  }
}
