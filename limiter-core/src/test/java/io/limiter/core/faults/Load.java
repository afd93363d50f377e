// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Verdict;
import io.limiter.core.testing.Pauses;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;

/**
 * Calls at a steady rate, whether or not the earlier ones are answered, like those of independent
 * clients.
 */
final class Load {

  private final LimitStore store;
  private final List<LimitRequest> calls;
  private final long intervalNanos;
  private final Queue<TimedVerdict> answers = new ConcurrentLinkedQueue<>();
  private final List<CompletableFuture<?>> pending = new ArrayList<>();
  private final Thread thread = new Thread(this::send, "load");
  private volatile boolean stopped;

  private Load(LimitStore store, List<LimitRequest> calls, int perSecond) {
    Pauses.watch();
    this.store = store;
    this.calls = calls;
    this.intervalNanos = TimeUnit.SECONDS.toNanos(1) / perSecond;
  }

  /** Starts the load; takes these calls in turn. */
  static Load start(LimitStore store, List<LimitRequest> calls, int perSecond) {
    Load load = new Load(store, calls, perSecond);
    load.thread.setDaemon(true);
    load.thread.start();
    return load;
  }

  /** All of these at once; waits for their answers. */
  static Collection<TimedVerdict> burst(LimitStore store, LimitRequest call, int times) {
    Load load = new Load(store, List.of(call), 1);
    for (int i = 0; i < times; i++) {
      load.send(call);
    }
    return load.answers();
  }

  private void send() {
    long next = System.nanoTime();
    for (int i = 0; !stopped; i = (i + 1) % calls.size()) {
      send(calls.get(i));
      next += intervalNanos;
      while (!stopped && next - System.nanoTime() > 0) {
        LockSupport.parkNanos(Math.max(1, next - System.nanoTime()));
      }
    }
  }

  private void send(LimitRequest call) {
    long sent = System.nanoTime();
    CompletionStage<Verdict> stage = store.decide(call, Mode.ACQUIRE);
    pending.add(
        stage
            .handle(
                (verdict, failure) ->
                    answers.add(
                        new TimedVerdict(
                            call.charge(0).key().tag(),
                            sent,
                            System.nanoTime(),
                            Optional.ofNullable(verdict))))
            .toCompletableFuture());
  }

  /** What was answered so far. */
  Collection<TimedVerdict> answeredSoFar() {
    return answers;
  }

  /** Ends the load, and waits for what is not answered yet. */
  Collection<TimedVerdict> stop() {
    stopSending();
    return answers();
  }

  void stopSending() {
    stopped = true;
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** How many calls have no answer, once sending has ended. */
  long unanswered() {
    return pending.stream().filter(call -> !call.isDone()).count();
  }

  private Collection<TimedVerdict> answers() {
    CompletableFuture<Void> all =
        CompletableFuture.allOf(pending.toArray(CompletableFuture[]::new));
    try {
      all.get(FaultBench.NOISE * 5, TimeUnit.SECONDS);
    } catch (TimeoutException e) {
      throw new AssertionError(
          pending.stream().filter(one -> !one.isDone()).count() + " calls were never answered", e);
    } catch (Exception e) {
      throw new AssertionError(e);
    }
    return answers;
  }

  /** Sends calls one after another for a time. */
  static Collection<TimedVerdict> during(
      Duration time, LimitStore store, List<LimitRequest> calls, int perSecond) {
    Load load = start(store, calls, perSecond);
    FaultBench.pass(time);
    return load.stop();
  }
}
