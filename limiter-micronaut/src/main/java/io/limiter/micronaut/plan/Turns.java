// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.micronaut.exception.CallAbandonedException;
import io.limiter.micronaut.thread.CallerThreads;
import io.limiter.micronaut.thread.LimiterTimer;
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
@Singleton
public final class Turns {

  private final LimiterTimer timer;
  private final CallerThreads threads;
  private final Map<Object, CompletableFuture<Void>> waiting = new ConcurrentHashMap<>();

  Turns(LimiterTimer timer, CallerThreads threads) {
    this.timer = timer;
    this.threads = threads;
  }

  /**
   * Waits for a call's turn. Completes on the timer's thread; with a {@link
   * CallAbandonedException}, at once and on any thread, if the caller goes away or the service
   * stops. Whoever else knows that the call is given up completes it so himself.
   *
   * @param request whose answer somebody waits for
   */
  public CompletableFuture<Void> in(Duration delay, Optional<HttpRequest<?>> request) {
    CompletableFuture<Void> turn = new CompletableFuture<>();
    Object call = new Object();
    waiting.put(call, turn);
    Future<?> due = timer.schedule(() -> turn.complete(null), delay.toNanos());
    Runnable forget = threads.onGone(request, () -> abandon(turn));
    var unused =
        turn.whenComplete(
            (now, abandoned) -> {
              waiting.remove(call);
              due.cancel(false);
              forget.run();
            });
    return turn;
  }

  /** The call will not be made, whoever is to see to it. */
  public static void abandon(CompletableFuture<Void> turn) {
    turn.completeExceptionally(new CallAbandonedException());
  }

  @PreDestroy
  void close() {
    waiting.values().forEach(Turns::abandon);
  }
}
