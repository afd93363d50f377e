// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.idempotency.Submissions.Attempt;
import io.limiter.idempotency.Submissions.Held;
import io.limiter.idempotency.Submissions.Request;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Submissions of this service, in memory or in Redis. Thread-safe; never blocks. */
@Singleton
final class SubmissionService {

  /** What became known of a submission. */
  enum Result {
    /** It was not made before: its method runs. */
    FIRST,
    /** It was answered, and the answer is repeated. */
    REPLAYED,
    /** Another one runs under its key. */
    RUNNING,
    /** Its key was used for another request. */
    DIFFERENT,
    /** The store does not answer. */
    UNAVAILABLE,
    /** What is stored cannot be read. */
    UNREADABLE,
    /** The claim was lost before its end. */
    LOST,
    /** It has run, and its result cannot be repeated. */
    DONE,
    /** Its answer has no room. */
    NO_ROOM,
    /** The store did not take its end. */
    GIVEN_UP,
    /** Its key is free again. */
    RELEASED
  }

  /** Receives each result. Runs on any thread: it must not block or throw. */
  interface Listener {
    void known(String route, Result result);
  }

  private final List<Listener> listeners;
  private final Fingerprints fingerprints = new Fingerprints(() -> null);

  SubmissionService(List<Listener> listeners) {
    this.listeners = List.copyOf(listeners);
  }

  /**
   * The name of a submission. All keys of one caller and scope have one tag.
   *
   * @param scope the route, or the queue
   * @param key as the caller has sent it
   */
  static StateKey key(Subject subject, String scope, String key) {
    return StateKey.of(scope, subject).answers(key);
  }

  Fingerprints fingerprints() {
    return fingerprints;
  }

  /**
   * Claims a submission. While another one runs under its key, waits for its end. Completes on any
   * thread; fails with the store, unless {@code limiter.idempotency.fallback} is {@code local}.
   *
   * @param maxWait then the other one is {@code RUNNING} still
   */
  CompletionStage<Attempt> claim(Request request, Duration maxWait) {
    return CompletableFuture.failedFuture(new UnsupportedOperationException());
  }

  /** What there is under a key, without claiming it. */
  CompletionStage<Found> look(Request request) {
    return CompletableFuture.failedFuture(new UnsupportedOperationException());
  }

  /** Keeps an answer, encrypted if a key is configured. Nothing waits for that. */
  void end(Held held, StateKey key, byte[] answer) {
    held.end(End.answer(answer));
  }

  /** The answer of which these bytes are stored; empty, which is logged, if they show none. */
  Optional<byte[]> open(StateKey key, byte[] stored) {
    return Optional.of(stored);
  }

  /** Forgets a submission, so that it may be made again. */
  CompletionStage<Void> forget(StateKey key) {
    return CompletableFuture.failedFuture(new UnsupportedOperationException());
  }

  /**
   * Counts what became known of a submission.
   *
   * @param route as in meters
   */
  void report(String route, Result result) {
    for (Listener listener : listeners) {
      listener.known(route, result);
    }
  }
}
