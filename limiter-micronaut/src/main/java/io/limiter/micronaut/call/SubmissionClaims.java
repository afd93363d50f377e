// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.core.Claim;
import io.limiter.core.Submission;
import io.limiter.core.idempotency.IdempotencyStore;
import io.limiter.core.idempotency.MemoryIdempotencyStore;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.config.LimiterConfiguration.IdempotencyConfiguration;
import io.limiter.micronaut.plan.DuplicateGuard.Replay;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.thread.LimiterTimer;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.util.SupplierUtil;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Claims submissions whose answers are repeated, and renews the claims while their methods run. A
 * repetition of a submission that is still processed waits without a thread: for each key, however
 * many requests wait for it, this instance asks the store once in {@link #POLL}.
 */
@Internal
@Singleton
public final class SubmissionClaims {

  /** How often the store is asked for an answer that requests wait for. */
  static final Duration POLL = Duration.ofMillis(100);

  /** The most requests that wait at once. Further ones are denied at once. */
  static final int MAX_WAITING = 10_000;

  private final IdempotencyStore store;
  private final LimiterTimer timer;
  private final Optional<AnswerCipher> cipher;
  private final Supplier<SubmissionClaims> local;
  private final Map<Submission, Queue> waiting = new ConcurrentHashMap<>();
  private final AtomicInteger waiters = new AtomicInteger();
  private final LogThrottle lost = new LogThrottle();

  @Inject
  SubmissionClaims(
      IdempotencyStore store,
      LimiterTimer timer,
      AnswerCipher cipher,
      IdempotencyConfiguration bounds) {
    this.store = store;
    this.timer = timer;
    this.cipher = Optional.of(cipher);
    this.local =
        SupplierUtil.memoized(
            () ->
                new SubmissionClaims(
                    new MemoryIdempotencyStore(
                        bounds.maxEntries(), bounds.maxBytes(), System::nanoTime),
                    timer));
  }

  private SubmissionClaims(MemoryIdempotencyStore memory, LimiterTimer timer) {
    this.store = memory;
    this.timer = timer;
    this.cipher = Optional.empty();
    this.local = () -> this;
  }

  /** Claims within this process, whose answers are not encrypted, while the store is away. */
  public SubmissionClaims local() {
    return local.get();
  }

  /** What became known of a submission. */
  @Internal
  public enum Result {
    /** It was not made before: its method runs. */
    FIRST,
    /** It was answered: the answer is repeated, unless it was not kept. */
    REPLAYED,
    /** It was answered, and what is stored cannot be read. */
    UNREADABLE,
    /** Another one is processed under its key. */
    RUNNING,
    /** Its key was used for another request. */
    DIFFERENT,
    /** The store does not answer. */
    UNAVAILABLE,
    /** Its method has outlived its claim, so its answer is not kept. */
    LOST
  }

  /** Receives each submission. Often runs on an event loop: it must not block or throw. */
  @Internal
  public interface Listener {
    /**
     * @param plan that of the route; empty for a call from code
     */
    void claimed(Optional<LimitPlan> plan, Result result);
  }

  /**
   * Claims a submission. If another one is processed under its key, waits for the answer to that
   * one, or for its end without an answer.
   *
   * @return on a thread of the store or of the timer; {@code RUNNING} if the other one is processed
   *     still
   */
  public CompletionStage<Claim> claim(Replay replay, Submission submission) {
    return store.claim(submission).thenCompose(found -> await(replay, submission, found));
  }

  /**
   * Compares a submission with an earlier one under its key; the first one keeps its fingerprint
   * there. Does not wait.
   */
  public CompletionStage<Claim> compare(Submission submission) {
    return store.claim(submission);
  }

  /** Frees the key of a submission that was only compared. */
  public CompletionStage<Boolean> forget(Claim first) {
    return store.release(first);
  }

  /** Waits like {@link #claim} if another submission is processed, as the store has found. */
  public CompletionStage<Claim> await(Replay replay, Submission submission, Claim found) {
    return found.state() == Claim.State.RUNNING && !replay.maxWait().isZero()
        ? enqueue(replay, submission, found)
        : CompletableFuture.completedFuture(found);
  }

  /** The answer to a submission; empty if it cannot be decrypted, which is logged. */
  public Optional<byte[]> answer(Claim answered) {
    byte[] stored = answered.answer();
    return cipher.isPresent() ? cipher.get().open(answered.key(), stored) : Optional.of(stored);
  }

  private CompletionStage<Claim> enqueue(Replay replay, Submission submission, Claim running) {
    if (waiters.incrementAndGet() > MAX_WAITING) {
      waiters.decrementAndGet();
      return CompletableFuture.completedFuture(running);
    }
    CompletableFuture<Claim> waiter = new CompletableFuture<>();
    Future<?> end = timer.schedule(() -> waiter.complete(running), replay.maxWait().toNanos());
    waiting.compute(
        submission,
        (any, known) -> {
          Queue queue = known == null ? new Queue(submission) : known;
          queue.waiters.add(waiter);
          return queue;
        });
    return waiter.whenComplete(
        (found, failure) -> {
          waiters.decrementAndGet();
          end.cancel(false);
        });
  }

  /** The requests that wait for one answer. */
  private final class Queue {

    private final Submission submission;

    /** Changes only while the map computes its entry. */
    private final ArrayDeque<CompletableFuture<Claim>> waiters = new ArrayDeque<>();

    Queue(Submission submission) {
      this.submission = submission;
      schedule();
    }

    private void schedule() {
      var unused = timer.schedule(this::poll, POLL.toNanos());
    }

    private void poll() {
      change(all -> all.removeIf(CompletableFuture::isDone));
      if (waiting.get(submission) != this) {
        return;
      }
      store
          .claim(submission)
          .whenComplete(
              (found, failure) -> {
                if (failure != null) {
                  end().forEach(waiter -> waiter.completeExceptionally(failure));
                } else if (found.state() == Claim.State.CLAIMED) {
                  handOver(found);
                  schedule();
                } else if (found.state() == Claim.State.RUNNING) {
                  schedule();
                } else {
                  end().forEach(waiter -> waiter.complete(found));
                }
              });
    }

    /** The first request that still waits takes the claim; the others wait for its answer. */
    private void handOver(Claim claimed) {
      while (true) {
        List<CompletableFuture<Claim>> first = new ArrayList<>(1);
        change(
            all -> {
              if (!all.isEmpty()) {
                first.add(all.poll());
              }
            });
        if (first.isEmpty()) {
          var unused = store.release(claimed);
          return;
        }
        if (first.get(0).complete(claimed)) {
          return;
        }
      }
    }

    /** Ends the queue. Returns those who waited. */
    private List<CompletableFuture<Claim>> end() {
      List<CompletableFuture<Claim>> all = new ArrayList<>();
      change(
          some -> {
            all.addAll(some);
            some.clear();
          });
      return all;
    }

    /** Changes who waits. A queue without waiters has ended, and changes no more. */
    private void change(Consumer<ArrayDeque<CompletableFuture<Claim>>> change) {
      waiting.computeIfPresent(
          submission,
          (any, queue) -> {
            if (queue == this) {
              change.accept(waiters);
            }
            return queue.waiters.isEmpty() ? null : queue;
          });
    }
  }

  /**
   * Renews a claim from now on, until it is answered, released or abandoned.
   *
   * @param whenLost runs if its method has outlived it
   */
  public HeldClaim hold(Claim claimed, Replay replay, Runnable whenLost) {
    HeldClaim held = new HeldClaim(claimed, replay, whenLost);
    held.schedule();
    return held;
  }

  /** A claim of a submission whose method runs. It ends once. Thread-safe. */
  public final class HeldClaim extends HeldSubmission {

    private final Claim claim;
    private final Replay replay;
    private final Runnable whenLost;

    private HeldClaim(Claim claim, Replay replay, Runnable whenLost) {
      super(timer, lost, replay.claim(), replay.retain());
      this.claim = claim;
      this.replay = replay;
      this.whenLost = whenLost;
    }

    @Override
    void reportLost() {
      whenLost.run();
      super.reportLost();
    }

    /** How the answer is repeated. */
    public Replay replay() {
      return replay;
    }

    @Override
    CompletionStage<Boolean> extend(Duration time) {
      return store.renew(claim, time);
    }

    /** Stops the renewals: the claim ends by itself. */
    public void abandon() {
      end();
    }

    /** Keeps the answer. Completes with whether it is kept; fails with the store. */
    public CompletionStage<Boolean> answer(byte[] answer) {
      if (!end()) {
        return CompletableFuture.completedFuture(false);
      }
      byte[] stored = cipher.isPresent() ? cipher.get().seal(claim.key(), answer) : answer;
      return store
          .answer(claim, stored, replay.retain())
          .thenApply(
              kept -> {
                if (!kept) {
                  reportLost();
                }
                return kept;
              });
    }

    /** Frees the submission, so that it may be made again. */
    public CompletionStage<Boolean> release() {
      return end() ? store.release(claim) : CompletableFuture.completedFuture(false);
    }
  }
}
