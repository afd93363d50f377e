// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.thread;

import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import reactor.core.scheduler.NonBlocking;

/**
 * Brings calls back from the store's threads. A call that was on its request's event loop goes on
 * there; any other goes on on a thread of {@link Continuations}, since the executor that it came
 * from may have none but those that wait for it.
 */
@Internal
@Singleton
public final class CallerThreads {

  /**
   * Above the longest hard deadline of any store, which is a minute, so that it ends a wait only
   * where a store breaks its promise.
   */
  private static final long MAX_WAIT_SECONDS = 65;

  private final List<CallerThreadFinder> servers;
  private final Continuations continuations;

  public CallerThreads(List<CallerThreadFinder> servers, Continuations continuations) {
    this.servers = servers;
    this.continuations = continuations;
  }

  /**
   * The same result, with what follows it run where the caller is at home. At once, if the result
   * is there already.
   */
  public <T> CompletableFuture<T> back(CompletionStage<T> stage, Optional<HttpRequest<?>> request) {
    CompletableFuture<T> future = stage.toCompletableFuture();
    return future.isDone() ? future : back(future, request, CallContext.current());
  }

  /**
   * The same.
   *
   * @param caller the context on threads that are none of the caller's
   */
  public <T> CompletableFuture<T> back(
      CompletionStage<T> stage, Optional<HttpRequest<?>> request, CallContext caller) {
    CompletableFuture<T> future = stage.toCompletableFuture();
    if (future.isDone()) {
      return future;
    }
    Optional<Executor> home = request.isPresent() ? server(request.get()) : Optional.empty();
    return future.whenCompleteAsync(
        (result, failure) -> {},
        home.isPresent()
            ? home.get()
            : continuation -> continuations.run(() -> caller.run(continuation)));
  }

  /** The same as {@link #back}, for a decision: behind those before it on the same connection. */
  public <T> CompletableFuture<T> inOrder(
      CompletionStage<T> decision, Optional<HttpRequest<?>> request) {
    Optional<CompletableFuture<T>> inOrder = lined(decision, request);
    return inOrder.isPresent() ? inOrder.get() : back(decision, request);
  }

  /**
   * The same.
   *
   * @param caller the context on threads that are none of the caller's
   */
  public <T> CompletableFuture<T> inOrder(
      CompletionStage<T> decision, Optional<HttpRequest<?>> request, CallContext caller) {
    Optional<CompletableFuture<T>> inOrder = lined(decision, request);
    return inOrder.isPresent() ? inOrder.get() : back(decision, request, caller);
  }

  private <T> Optional<CompletableFuture<T>> lined(
      CompletionStage<T> decision, Optional<HttpRequest<?>> request) {
    if (request.isPresent()) {
      for (CallerThreadFinder server : servers) {
        Optional<CompletableFuture<T>> inOrder =
            server.inOrder(request.get(), decision.toCompletableFuture());
        if (inOrder.isPresent()) {
          return inOrder;
        }
      }
    }
    return Optional.empty();
  }

  /**
   * Runs a task on one of these threads, behind all others that are run in the same way for the
   * connection of a request, if its server has that.
   */
  public void oneByOne(Optional<HttpRequest<?>> request, Executor threads, Runnable task) {
    request
        .flatMap(
            http ->
                servers.stream()
                    .flatMap(server -> server.oneByOne(http, threads).stream())
                    .findFirst())
        .orElse(threads)
        .execute(task);
  }

  private Optional<Executor> server(HttpRequest<?> request) {
    for (CallerThreadFinder server : servers) {
      Optional<Executor> executor = server.current(request);
      if (executor.isPresent()) {
        return executor;
      }
    }
    return Optional.empty();
  }

  /**
   * Has a task run once nobody waits for the answer to a request any more, as far as its server
   * says so. It must not wait.
   *
   * @return forgets the task
   */
  public Runnable onGone(Optional<HttpRequest<?>> request, Runnable task) {
    return request
        .flatMap(
            http ->
                servers.stream().flatMap(server -> server.onGone(http, task).stream()).findFirst())
        .orElse(() -> {});
  }

  /**
   * Closes the WebSocket that a request has opened.
   *
   * @param later whether its caller may come again: with 1013, else with 1008
   * @return whether it is closed now
   */
  public boolean closeWebSocket(Optional<HttpRequest<?>> request, boolean later) {
    return request
        .filter(http -> servers.stream().anyMatch(server -> server.closeWebSocket(http, later)))
        .isPresent();
  }

  /** Whether the current thread must never wait. */
  public boolean mustNotBlock() {
    return Thread.currentThread() instanceof NonBlocking
        || servers.stream().anyMatch(CallerThreadFinder::isEventLoop);
  }

  /**
   * Makes sure that the current thread may wait, whether or not it will have to.
   *
   * @param method who would wait, for the message
   * @throws IllegalStateException with the remedy, if it must not
   */
  public void requireMayBlock(String method) {
    if (mustNotBlock()) {
      throw new IllegalStateException(
          "%s is limited, returns its result itself, and was called on the event loop %s, which must not wait for a decision: call it from a thread that may block (@ExecuteOn(TaskExecutors.BLOCKING)), or let it return a CompletionStage or a Publisher"
              .formatted(method, Thread.currentThread().getName()));
    }
  }

  /**
   * Waits for a result, for a bounded time, on a thread that may.
   *
   * @param method who waits, for the message
   */
  public <T> @Nullable T await(CompletionStage<T> stage, String method) {
    return await(stage, method, Duration.ZERO);
  }

  /**
   * The same for a result that is known to come later.
   *
   * @param expected the time after which it is to come
   */
  public <T> @Nullable T await(CompletionStage<T> stage, String method, Duration expected) {
    CompletableFuture<T> future = stage.toCompletableFuture();
    try {
      return future.get(expected.plusSeconds(MAX_WAIT_SECONDS).toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof RuntimeException cause
          ? cause
          : new IllegalStateException(e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while waiting for the decision on " + method, e);
    } catch (TimeoutException e) {
      throw new IllegalStateException(
          "No decision on " + method + " came in " + MAX_WAIT_SECONDS + " s", e);
    }
  }
}
