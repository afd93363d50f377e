// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.micronaut.plan.CallEnd;
import io.limiter.micronaut.thread.CallerThreads;
import io.micronaut.http.HttpRequest;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * The end of a call whose answer is a stream: with its last item, before its reader sees that it
 * was the last; with its failure; or when its reader goes away.
 *
 * @param status of the answer that the stream is part of
 */
record StreamEnd(CallEnd end, int status, CallerThreads threads, HttpRequest<?> request) {

  /** The same items. */
  Flux<Object> of(Publisher<?> stream) {
    return Flux.<Object>from(stream)
        .concatWith(Mono.defer(() -> settled(end.answered(status)).then(Mono.empty())))
        .onErrorResume(failure -> failed().then(Mono.error(failure)))
        .doOnCancel(() -> end.cancelled(false));
  }

  private Mono<Void> failed() {
    end.threw();
    return settled(end.settle());
  }

  private Mono<Void> settled(CompletionStage<Void> settling) {
    return Mono.fromCompletionStage(threads.back(settling, Optional.of(request)));
  }
}
