// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import java.util.function.Supplier;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Guards a method that returns a Publisher: each subscription is a call. */
final class PublisherGuard {

  private PublisherGuard() {}

  static Publisher<?> enter(GuardedCall call, Supplier<Publisher<?>> method) {
    return call.single()
        ? Mono.defer(() -> admission(call).flatMap(admission -> mono(call, admission, method)))
        : Flux.defer(() -> admission(call).flatMapMany(admission -> flux(call, admission, method)));
  }

  private static Mono<Admission> admission(GuardedCall call) {
    return Mono.fromCompletionStage(call.admission());
  }

  private static Mono<?> mono(
      GuardedCall call, Admission admission, Supplier<Publisher<?>> method) {
    admission.settled();
    return Mono.<Object>from(call.inContext(method))
        .onErrorResume(failure -> PublisherGuard.<Object>fail(call, admission, failure));
  }

  private static Flux<?> flux(
      GuardedCall call, Admission admission, Supplier<Publisher<?>> method) {
    admission.settled();
    return Flux.<Object>from(call.inContext(method))
        .onErrorResume(failure -> PublisherGuard.<Object>fail(call, admission, failure));
  }

  private static <T> Mono<T> fail(GuardedCall call, Admission admission, Throwable failure) {
    return Mono.fromCompletionStage(call.release(admission)).then(Mono.error(failure));
  }
}
