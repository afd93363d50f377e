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

  /** The executor to come back to; empty if the current thread is none of this request's server. */
  Optional<Executor> current(HttpRequest<?> request);

  /**
   * The same decision, behind those before it on the connection of this request, with what follows
   * it run on the current thread: a message, or a request, does not overtake that before it.
   *
   * @return empty if the current thread is not the one that reads the connection, or if calls on it
   *     have no order
   */
  default <T> Optional<CompletableFuture<T>> inOrder(
      HttpRequest<?> request, CompletableFuture<T> decision) {
    return Optional.empty();
  }

  /**
   * Runs the tasks of the connection of this request one after another, in the order in which they
   * are given.
   *
   * @param threads run the tasks, which may wait
   * @return empty if the request is none of this server
   */
  default Optional<Executor> oneByOne(HttpRequest<?> request, Executor threads) {
    return Optional.empty();
  }

  /**
   * Has a task run once nobody waits for the answer to this request any more: at once, if that is
   * so already. On any thread; the task must not wait.
   *
   * @return forgets the task; empty if the request is none of this server
   */
  default Optional<Runnable> onGone(HttpRequest<?> request, Runnable task) {
    return Optional.empty();
  }

  /**
   * Closes the WebSocket that this request has opened.
   *
   * @param later whether its caller may come again: with 1013, else with 1008
   * @return whether it is closed now; not if the request is none of this server, or opened none
   */
  default boolean closeWebSocket(HttpRequest<?> request, boolean later) {
    return false;
  }

  /** Whether the current thread serves many connections, so that it must never wait. */
  default boolean isEventLoop() {
    return false;
  }
}
