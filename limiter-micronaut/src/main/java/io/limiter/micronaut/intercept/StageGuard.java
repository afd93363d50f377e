// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Guards a method that returns a CompletionStage. */
final class StageGuard {

  private StageGuard() {}

  static CompletionStage<@Nullable Object> enter(
      GuardedCall call, Supplier<CompletionStage<?>> method) {
    ArrivingCall arrival = call.arrive();
    CompletableFuture<@Nullable Object> result =
        arrival.admission().thenCompose(admission -> run(call, admission, method));
    if (call.mayWait()) {
      var unused =
          result.whenComplete(
              (value, failure) -> {
                if (result.isCancelled()) {
                  arrival.leave();
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
      GuardedCall call, Admission admission, Supplier<CompletionStage<?>> method) {
    return begin(call, admission, method)
        .<CompletionStage<@Nullable Object>>handle(
            (result, failure) ->
                failure == null
                    ? call.returned(admission, result).thenApply(settled -> result)
                    : call.failed(admission)
                        .thenCompose(settled -> CompletableFuture.failedFuture(failure)))
        .thenCompose(Function.identity());
  }

  private static CompletionStage<?> begin(
      GuardedCall call, Admission admission, Supplier<CompletionStage<?>> method) {
    try {
      return call.enter(admission, method);
    } catch (Throwable failure) {
      return CompletableFuture.failedFuture(failure);
    }
  }
}
