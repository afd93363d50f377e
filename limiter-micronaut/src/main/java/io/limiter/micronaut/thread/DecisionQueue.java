// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.thread;

import java.util.ArrayDeque;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The pending decisions of one connection. A decision that arrives out of order waits for the
 * earlier ones, at most for the store's deadline. Only for use on the connection's event loop.
 */
final class DecisionQueue {

  /**
   * Far above the pending decisions of any normal connection; further decisions are not ordered.
   */
  private static final int MAX_WAITING = 4_096;

  private final Executor home;
  private final Queue<Place<?>> waiting = new ArrayDeque<>();
  private boolean advancing;

  /**
   * @param home the event loop; runs a task at once on that thread
   */
  DecisionQueue(Executor home) {
    this.home = home;
  }

  /** The same decision, on the event loop and after earlier ones; empty if there are too many. */
  <T> Optional<CompletableFuture<T>> add(CompletableFuture<T> decision) {
    if (decision.isDone() && waiting.isEmpty()) {
      return Optional.of(decision);
    }
    if (waiting.size() >= MAX_WAITING) {
      return Optional.empty();
    }
    Place<T> place = new Place<>(this);
    waiting.add(place);
    var unused = decision.whenComplete(place);
    return Optional.of(place);
  }

  private void come(Place<?> place) {
    try {
      home.execute(this::advance);
    } catch (
        RejectedExecutionException closed) { // the loop has ended: decisions are no longer ordered
      place.goOn();
    }
  }

  /**
   * A continuation may decide again and call this method: the loop that already runs handles that.
   */
  private void advance() {
    if (advancing) {
      return;
    }
    advancing = true;
    try {
      Place<?> first = waiting.peek();
      while (first != null && first.come) {
        waiting.remove();
        first.goOn();
        first = waiting.peek();
      }
    } finally {
      advancing = false;
    }
  }

  /** A decision in its turn. */
  private static final class Place<T> extends CompletableFuture<T>
      implements BiConsumer<@Nullable T, @Nullable Throwable> {

    private final DecisionQueue queue;
    private @Nullable T value;
    private @Nullable Throwable failure;
    private volatile boolean come;

    Place(DecisionQueue queue) {
      this.queue = queue;
    }

    @Override
    public void accept(@Nullable T decided, @Nullable Throwable failed) {
      value = decided;
      failure = failed;
      come = true;
      queue.come(this);
    }

    void goOn() {
      Throwable failed = failure;
      if (failed != null) {
        completeExceptionally(failed);
      } else {
        complete(value);
      }
    }
  }
}
