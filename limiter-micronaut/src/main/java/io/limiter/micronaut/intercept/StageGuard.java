// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Guards a method that returns a CompletionStage. */
final class StageGuard {

  private StageGuard() {}

  static CompletionStage<@Nullable Object> enter(
      GuardedCall call, Supplier<CompletionStage<?>> method) {
    return call.admission().thenCompose(admission -> run(call, admission, method));
  }

  private static CompletionStage<@Nullable Object> run(
      GuardedCall call, Admission admission, Supplier<CompletionStage<?>> method) {
    admission.settled();
    return begin(call, method)
        .<CompletionStage<@Nullable Object>>handle(
            (result, failure) ->
                failure == null
                    ? CompletableFuture.completedFuture(result)
                    : call.release(admission)
                        .thenCompose(released -> CompletableFuture.failedFuture(failure)))
        .thenCompose(Function.identity());
  }

  private static CompletionStage<?> begin(GuardedCall call, Supplier<CompletionStage<?>> method) {
    try {
      return call.inContext(method);
    } catch (Throwable failure) {
      return CompletableFuture.failedFuture(failure);
    }
  }
}
