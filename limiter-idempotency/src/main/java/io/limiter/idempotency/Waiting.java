// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.core.StateKey;
import io.limiter.idempotency.Submissions.Attempt;
import io.limiter.idempotency.Submissions.Held;
import io.limiter.idempotency.Submissions.Request;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * Repetitions that wait for the end of a submission, without a thread and without their bodies. For
 * each key, however many wait, this process asks the store with growing pauses. Thread-safe.
 */
final class Waiting {

  private static final long FIRST_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
  private static final long LONGEST_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** Claims what they wait for. */
  interface Claims {

    /**
     * @param mayBeLocal as for {@link #await}
     */
    CompletionStage<Attempt> claim(Request request, boolean mayBeLocal);
  }

  private final Claims claims;
  private final Timing timing;
  private final int max;
  private final int maxOfSubject;

  // Guarded by this object.
  private final Map<Awaited, Queue> queues = new HashMap<>();
  private final Map<String, Integer> ofSubject = new HashMap<>();
  private int all;

  /**
   * @param max how many wait at most; further ones find what they have found already
   * @param maxOfSubject how many of one subject
   */
  Waiting(Claims claims, Timing timing, int max, int maxOfSubject) {
    this.claims = claims;
    this.timing = timing;
    this.max = max;
    this.maxOfSubject = maxOfSubject;
  }

  /**
   * Waits until a submission that runs has ended, and completes with what there is then: its
   * answer, or the claim of this request, if the key is free. Fails with the store.
   *
   * @param running what the request has found
   * @param nanos how long it waits; then it is still {@code running}
   * @param mayBeLocal whether memory may decide while the store is away
   */
  CompletionStage<Attempt> await(Request request, Attempt running, long nanos, boolean mayBeLocal) {
    CompletableFuture<Attempt> waiter = new CompletableFuture<>();
    Queue queue;
    boolean isFirst;
    synchronized (this) {
      String subject = request.key().tag();
      if (nanos <= 0 || all >= max || ofSubject.getOrDefault(subject, 0) >= maxOfSubject) {
        return CompletableFuture.completedFuture(running);
      }
      all++;
      ofSubject.merge(subject, 1, Integer::sum);
      queue =
          queues.computeIfAbsent(
              new Awaited(request.key(), mayBeLocal), awaited -> new Queue(request, awaited));
      isFirst = queue.waiters.isEmpty();
      queue.waiters.add(waiter);
    }
    if (isFirst) {
      queue.schedule();
    }
    Future<?> end = timing.schedule(() -> waiter.complete(running), nanos);
    return waiter.whenComplete(
        (found, failure) -> {
          end.cancel(false);
          leave(queue, waiter);
        });
  }

  private synchronized void leave(Queue queue, CompletableFuture<Attempt> waiter) {
    all--;
    ofSubject.computeIfPresent(
        queue.awaited.key().tag(), (subject, known) -> known == 1 ? null : known - 1);
    queue.waiters.removeIf(other -> other == waiter);
    if (queue.waiters.isEmpty()) {
      queues.remove(queue.awaited, queue);
    }
  }

  /** How many wait now. */
  synchronized int size() {
    return all;
  }

  /** One question to the store. */
  private record Awaited(StateKey key, boolean mayBeLocal) {}

  /** The requests that wait for one key. */
  private final class Queue {

    /** The first of them; the others have the same head. */
    private final Request request;

    private final Awaited awaited;

    /** Guarded by the outer object. */
    private final List<CompletableFuture<Attempt>> waiters = new ArrayList<>();

    private long pauseNanos = FIRST_PAUSE_NANOS;

    Queue(Request request, Awaited awaited) {
      this.request = request;
      this.awaited = awaited;
    }

    private void schedule() {
      var unused = timing.schedule(this::ask, pauseNanos);
      pauseNanos = Math.min(LONGEST_PAUSE_NANOS, 2 * pauseNanos);
    }

    private List<CompletableFuture<Attempt>> waiters() {
      synchronized (Waiting.this) {
        return List.copyOf(waiters);
      }
    }

    /** No claim is sent once all have left. */
    private void ask() {
      if (waiters().isEmpty()) {
        return;
      }
      claims
          .claim(request, awaited.mayBeLocal())
          .whenComplete(
              (found, failure) -> {
                if (failure != null) {
                  waiters().forEach(waiter -> waiter.completeExceptionally(failure));
                } else if (found.held() != null) {
                  handOver(found, found.held());
                } else if (found.found().kind() != Found.Kind.RUNNING) {
                  waiters().forEach(waiter -> waiter.complete(found));
                }
                schedule(); // others may have come meanwhile, and wait for the next question
              });
    }

    /** The first request that still waits takes the claim; the others wait for its end. */
    private void handOver(Attempt found, Held held) {
      if (waiters().stream().noneMatch(waiter -> waiter.complete(found))) {
        held.abandon();
      }
      pauseNanos = FIRST_PAUSE_NANOS;
    }
  }
}
