// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Verdict;
import io.limiter.micronaut.testing.StoreDecorator;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.event.BeanCreatedEvent;
import io.micronaut.context.event.BeanCreatedEventListener;
import jakarta.inject.Singleton;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Returns the results of the store, but never at once and always on its own thread, so that code
 * that continues there is detected. It can be configured to fail.
 */
@Singleton
@Requires(property = "test.slow-store", value = "true")
final class SlowStore implements BeanCreatedEventListener<LimitStore> {

  static final String THREAD = "slow-store";

  private static final int MILLIS = 15;

  private final ExecutorService thread =
      Executors.newSingleThreadExecutor(task -> new Thread(task, THREAD));
  private final AtomicReference<RuntimeException> failure = new AtomicReference<>();

  /** The next decision fails, as late as others are given. */
  void failNext(RuntimeException next) {
    failure.set(next);
  }

  @Override
  public LimitStore onCreated(BeanCreatedEvent<LimitStore> event) {
    return new StoreDecorator(event.getBean()) {
      @Override
      public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
        RuntimeException failing = failure.getAndSet(null);
        return late()
            .thenCompose(
                late ->
                    failing == null
                        ? store.decide(request, mode)
                        : CompletableFuture.failedFuture(failing))
            .handleAsync(
                (verdict, failed) -> {
                  if (failed != null) {
                    throw failed instanceof RuntimeException cause
                        ? cause
                        : new IllegalStateException(failed);
                  }
                  return verdict;
                },
                thread);
      }

      @Override
      public void close() {
        super.close();
        thread.shutdown();
      }
    };
  }

  private CompletableFuture<Void> late() {
    return CompletableFuture.runAsync(
        () -> {}, CompletableFuture.delayedExecutor(MILLIS, TimeUnit.MILLISECONDS, thread));
  }
}
