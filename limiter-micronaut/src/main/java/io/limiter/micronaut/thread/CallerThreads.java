// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.thread;

import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.scheduler.NonBlocking;

/**
 * Moves calls back from the store's threads. A call from its request's event loop continues there.
 * Any other call continues on a thread of {@link Continuations}, since all threads of the executor
 * that it came from may be waiting for it.
 */
@Internal
@Singleton
public final class CallerThreads {

  /**
   * Longer than the longest hard deadline of any store, one minute, so that it ends a wait only if
   * a store violates its contract.
   */
  private static final long MAX_WAIT_SECONDS = 65;

  private static final Logger LOG = LoggerFactory.getLogger(CallerThreads.class);

  /** The most methods that are logged. */
  private static final int MAX_LOGGED = 100;

  private final Set<String> logged = ConcurrentHashMap.newKeySet();
  private final List<CallerThreadFinder> servers;
  private final Continuations continuations;

  public CallerThreads(List<CallerThreadFinder> servers, Continuations continuations) {
    this.servers = servers;
    this.continuations = continuations;
  }

  /**
   * The same result, with its continuation run on the caller's event loop, or at once if the result
   * is already there.
   */
  public <T> CompletableFuture<T> back(CompletionStage<T> stage, Optional<HttpRequest<?>> request) {
    CompletableFuture<T> future = stage.toCompletableFuture();
    return future.isDone() ? future : back(future, request, CallContext.current());
  }

  /**
   * The same.
   *
   * @param caller the context for other threads than the caller's
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

  /** Like {@link #back}, for a decision: ordered after earlier ones on the same connection. */
  public <T> CompletableFuture<T> inOrder(
      CompletionStage<T> decision, Optional<HttpRequest<?>> request) {
    Optional<CompletableFuture<T>> inOrder = lined(decision, request);
    return inOrder.isPresent() ? inOrder.get() : back(decision, request);
  }

  /**
   * The same.
   *
   * @param caller the context for other threads than the caller's
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
   * Runs a task on one of these threads, after all tasks that were submitted this way for the same
   * connection, if the server supports that.
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
   * Runs a task once the client no longer waits for the response to a request, if the server
   * reports that. The task must not block.
   *
   * @return removes the task
   */
  public Runnable onGone(Optional<HttpRequest<?>> request, Runnable task) {
    return request
        .flatMap(
            http ->
                servers.stream().flatMap(server -> server.onGone(http, task).stream()).findFirst())
        .orElse(() -> {});
  }

  /**
   * Closes the WebSocket that a request opened.
   *
   * @param later whether the client may connect again later: closes with 1013, else with 1008
   * @return whether it is closed now
   */
  public boolean closeWebSocket(Optional<HttpRequest<?>> request, boolean later) {
    return request
        .filter(http -> servers.stream().anyMatch(server -> server.closeWebSocket(http, later)))
        .isPresent();
  }

  /** Whether the current thread must never block. */
  public boolean mustNotBlock() {
    return Thread.currentThread() instanceof NonBlocking
        || servers.stream().anyMatch(CallerThreadFinder::isEventLoop);
  }

  /**
   * Verifies that the current thread may block, whether or not it will have to. The first call of
   * each method that fails is logged: what handles exceptions may hide the message.
   *
   * @param method the method that would wait, for the message
   * @throws IllegalStateException with the remedy, if it must not block
   */
  public void requireMayBlock(String method) {
    if (mustNotBlock()) {
      String remedy =
          "%s is limited, returns its result itself, and was called on the event loop %s, which must not wait for a decision: call it from a thread that may block, for example by @ExecuteOn(TaskExecutors.BLOCKING) on the controller that calls it, or let it return a CompletionStage or a Publisher"
              .formatted(method, Thread.currentThread().getName());
      if (logged.size() < MAX_LOGGED && logged.add(method)) {
        LOG.error("{}. Each such call fails; this is logged once", remedy);
      }
      throw new IllegalStateException(remedy);
    }
  }

  /**
   * Waits for a result, for a bounded time, on a thread that may block.
   *
   * @param method the method that waits, for the message
   */
  public <T> @Nullable T await(CompletionStage<T> stage, String method) {
    return await(stage, method, Duration.ZERO);
  }

  /**
   * The same for a result that is expected only after some time.
   *
   * @param expected the time after which the result is expected
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
