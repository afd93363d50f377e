// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.thread;

import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpRequest;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** Finds the executor that the current thread belongs to, for one kind of server. */
@Internal
@FunctionalInterface
public interface CallerThreadFinder {

  /**
   * The executor of the current thread; empty if the thread does not belong to this request's
   * server.
   */
  Optional<Executor> current(HttpRequest<?> request);

  /**
   * Orders a decision after earlier ones on the connection of this request, and runs its
   * continuation on the current thread, so that a message or request does not overtake an earlier
   * one.
   *
   * @return empty if the current thread does not read the connection, or if calls on it have no
   *     order
   */
  default <T> Optional<CompletableFuture<T>> inOrder(
      HttpRequest<?> request, CompletableFuture<T> decision) {
    return Optional.empty();
  }

  /**
   * Returns an executor that runs the tasks of this request's connection one after another, in the
   * order of their submission.
   *
   * @param threads the threads that run the tasks, which may block
   * @return empty if the request does not belong to this server
   */
  default Optional<Executor> oneByOne(HttpRequest<?> request, Executor threads) {
    return Optional.empty();
  }

  /**
   * Runs a task once the client no longer waits for the response to this request; at once, if that
   * is already so. The task may run on any thread and must not block.
   *
   * @return removes the task; empty if the request does not belong to this server
   */
  default Optional<Runnable> onGone(HttpRequest<?> request, Runnable task) {
    return Optional.empty();
  }

  /**
   * Closes the WebSocket that this request opened.
   *
   * @param later whether the client may connect again later: closes with 1013, else with 1008
   * @return whether it is closed now; false if the request does not belong to this server or opened
   *     no WebSocket
   */
  default boolean closeWebSocket(HttpRequest<?> request, boolean later) {
    return false;
  }

  /** Whether the current thread serves many connections, so that it must never block. */
  default boolean isEventLoop() {
    return false;
  }
}
