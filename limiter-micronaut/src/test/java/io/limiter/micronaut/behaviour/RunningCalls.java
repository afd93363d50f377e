// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Calls of {@link InFlightRoutes} that run until a test ends them. */
@Singleton
@Requires(property = "spec.name", value = InFlightRoutes.SPEC)
final class RunningCalls {

  private final Queue<CompletableFuture<String>> running = new ConcurrentLinkedQueue<>();

  /** A call begins; the future is its end. */
  CompletableFuture<String> begin() {
    CompletableFuture<String> end = new CompletableFuture<>();
    running.add(end);
    return end;
  }

  int count() {
    return running.size();
  }

  void end(String result) {
    for (CompletableFuture<String> end = running.poll(); end != null; end = running.poll()) {
      end.complete(result);
    }
  }

  void fail() {
    for (CompletableFuture<String> end = running.poll(); end != null; end = running.poll()) {
      end.completeExceptionally(new IllegalStateException("failed"));
    }
  }
}
