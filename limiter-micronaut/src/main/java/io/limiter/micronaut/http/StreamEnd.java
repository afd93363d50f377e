// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.micronaut.call.AdmittedCall;
import io.limiter.micronaut.thread.CallerThreads;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.exceptions.HttpStatusException;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * The end of a call whose answer is a stream: with its last item, before its reader sees that it
 * was the last; with its failure; or when its reader goes away.
 *
 * @param status of the answer that the stream is part of
 */
record StreamEnd(AdmittedCall end, int status, CallerThreads threads, HttpRequest<?> request) {

  /** The same items. */
  Flux<Object> of(Publisher<?> stream) {
    return Flux.defer(
        () -> {
          AtomicBoolean begun = new AtomicBoolean();
          return Flux.<Object>from(stream)
              .doOnNext(item -> begun.setPlain(true))
              .concatWith(Mono.defer(() -> settled(end.answered(status)).then(Mono.empty())))
              .onErrorResume(failure -> failed(failure, begun.getPlain()))
              .doOnCancel(() -> end.cancelled(false));
        });
  }

  /**
   * Until the first item the server can still answer with another status, and does so: with that of
   * a status exception, else with 500, whatever handlers there are. Later there is none.
   */
  private Mono<Object> failed(Throwable failure, boolean begun) {
    var unused = end.threw();
    CompletionStage<Void> settling =
        !begun && failure instanceof HttpStatusException answer
            ? end.answered(answer.getStatus().getCode())
            : end.settle();
    return settled(settling).then(Mono.error(failure));
  }

  private Mono<Void> settled(CompletionStage<Void> settling) {
    return Mono.fromCompletionStage(threads.back(settling, Optional.of(request)));
  }
}
