// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Guards a method that returns a Publisher: each subscription is a call. */
final class PublisherGuard {

  private PublisherGuard() {}

  static Publisher<?> enter(GuardedCall call, Supplier<Publisher<?>> method) {
    return call.single()
        ? Mono.defer(() -> admission(call).flatMap(admission -> mono(call, admission, method)))
        : Flux.defer(() -> flux(call, method));
  }

  /**
   * Guards a stream that is the answer to a request. It begins with that answer, before anybody
   * subscribes: so a denial, or what the method throws, is still answered as for any route, and
   * from then on the stream itself sees to its failure.
   */
  static Publisher<?> stream(GuardedCall call, Supplier<Publisher<?>> method) {
    Admission admission = call.awaitAdmission();
    Publisher<?> begun = method.get();
    admission.settled();
    AtomicReference<@Nullable Flux<Object>> first =
        new AtomicReference<>(guarded(call, admission, begun));
    return Flux.defer(
        () -> {
          Flux<Object> answer = first.getAndSet(null);
          return answer == null ? flux(call, method) : answer;
        });
  }

  private static Mono<Admission> admission(GuardedCall call) {
    return Mono.fromCompletionStage(call.admission());
  }

  private static Mono<?> mono(
      GuardedCall call, Admission admission, Supplier<Publisher<?>> method) {
    admission.settled();
    return Mono.<Object>defer(() -> Mono.fromDirect(inContext(call, method)))
        .onErrorResume(failure -> fail(call, admission, failure));
  }

  private static Flux<Object> flux(GuardedCall call, Supplier<Publisher<?>> method) {
    return admission(call)
        .flatMapMany(
            admission -> {
              admission.settled();
              return guarded(
                  call, admission, Flux.<Object>defer(() -> Flux.from(inContext(call, method))));
            });
  }

  private static Flux<Object> guarded(GuardedCall call, Admission admission, Publisher<?> method) {
    return Flux.<Object>from(method)
        .onErrorResume(failure -> fail(call, admission.streamed(), failure));
  }

  /** Both the method and what happens on subscription are the application's code. */
  private static Publisher<Object> inContext(GuardedCall call, Supplier<Publisher<?>> method) {
    Publisher<?> result = call.inContext(method);
    return subscriber ->
        call.inContext(
            () -> {
              Flux.<Object>from(result).subscribe(subscriber);
              return subscriber;
            });
  }

  private static <T> Mono<T> fail(GuardedCall call, Admission admission, Throwable failure) {
    return Mono.fromCompletionStage(call.release(admission)).then(Mono.error(failure));
  }
}
