// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.micronaut.exception.CallAbandonedException;
import io.limiter.micronaut.thread.CallerThreads;
import io.limiter.micronaut.thread.LimiterTimer;
import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpRequest;
import jakarta.annotation.PreDestroy;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;

/**
 * Lets admitted calls wait until the store has told them to begin: without a thread, and without
 * asking again. As many wait as the queues of the rules have room for.
 */
@Internal
@Singleton
public final class TurnQueue {

  private final LimiterTimer timer;
  private final CallerThreads threads;
  private final Map<Object, CompletableFuture<Void>> waiting = new ConcurrentHashMap<>();
  private volatile boolean closed;

  TurnQueue(LimiterTimer timer, CallerThreads threads) {
    this.timer = timer;
    this.threads = threads;
  }

  /**
   * Waits for a call's turn. Completes on the timer's thread; with a {@link
   * CallAbandonedException}, at once and on any thread, if the caller goes away or the service
   * stops. Whoever else knows that the call is given up completes it so himself.
   *
   * @param request in whose name it is made: while that has no answer, its client waits for it
   */
  public CompletableFuture<Void> in(Duration delay, Optional<HttpRequest<?>> request) {
    CompletableFuture<Void> turn = new CompletableFuture<>();
    Object call = new Object();
    waiting.put(call, turn);
    Future<?> due = timer.schedule(() -> turn.complete(null), delay.toNanos());
    Runnable forget = threads.onGone(request, () -> abandonUnlessAnswered(request, turn));
    var unused =
        turn.whenComplete(
            (now, abandoned) -> {
              waiting.remove(call);
              due.cancel(false);
              forget.run();
            });
    if (closed) { // nobody would say when
      abandon(turn);
    }
    return turn;
  }

  /** A call that goes on after the answer, such as a message that is sent later, is nobody's. */
  private static void abandonUnlessAnswered(
      Optional<HttpRequest<?>> request, CompletableFuture<Void> turn) {
    if (request.filter(RequestDecision::isAnswered).isEmpty()) {
      abandon(turn);
    }
  }

  /** How many calls wait in this process. */
  public int waiting() {
    return waiting.size();
  }

  /** The call will not be made, whoever is to see to it. */
  public static void abandon(CompletableFuture<Void> turn) {
    turn.completeExceptionally(new CallAbandonedException());
  }

  @PreDestroy
  void close() {
    closed = true;
    waiting.values().forEach(TurnQueue::abandon);
  }
}
