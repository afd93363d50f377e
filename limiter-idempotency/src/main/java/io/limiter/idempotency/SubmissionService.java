// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.core.Fallback;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.util.LogThrottle;
import io.limiter.idempotency.IdempotencyConfiguration.EncryptionConfiguration;
import io.limiter.idempotency.SubmissionStores.Place;
import io.limiter.idempotency.Submissions.Attempt;
import io.limiter.idempotency.Submissions.Held;
import io.limiter.idempotency.Submissions.Outcome;
import io.limiter.idempotency.Submissions.Request;
import io.limiter.micronaut.thread.LimiterTimer;
import io.micronaut.scheduling.TaskExecutors;
import jakarta.annotation.PreDestroy;
import jakarta.inject.Named;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The submissions of this service, in memory or in Redis. Thread-safe; never blocks. Stages
 * complete on any thread: of the store, of the timer, or the caller's.
 *
 * <p>Where {@code local} is the fallback, a second store in memory decides while the shared one
 * does not answer. A key that this instance holds in one of them is taken in the other, too.
 */
@Singleton
final class SubmissionService implements Waiting.Claims {

  private static final Logger LOG = LoggerFactory.getLogger(SubmissionService.class);

  /** The limit key of all submissions. */
  private static final String LIMIT = "io.limiter.idempotency";

  /** How long the end of the service waits for the ends of submissions. */
  private static final Duration LAST_WRITES = Duration.ofSeconds(2);

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
    /** The claim was lost before its end: it may run, or have run, twice. */
    LOST,
    /** It has run, and its result cannot be repeated. */
    DONE,
    /** Its answer has no room, so it is done. */
    NO_ROOM,
    /** The store did not take its end until that was of no use any more. */
    GIVEN_UP,
    /** Its key is free again. */
    RELEASED
  }

  /** Receives each result. Runs on any thread: it must not block or throw. */
  interface Listener {
    /**
     * @param route that of the request
     */
    void known(String route, Result result);
  }

  /** Done once the first attempt to connect has ended, or has taken too long. */
  private final CompletableFuture<Void> tried;

  private final Submissions main;

  /** Decides while the main ones are away; they are the main ones if those are in memory. */
  private final Submissions local;

  private final Waiting waiting;
  private final ByteBudget written;
  private final boolean isShared;
  private final Fallback fallback;
  private final Fingerprints fingerprints;
  private final AnswerCipher cipher;
  private final RandomBytes nonces;
  private final List<Listener> listeners;
  private final Map<Outcome, LogThrottle> bad = new EnumMap<>(Outcome.class);

  SubmissionService(
      Place place,
      IdempotencyConfiguration settings,
      EncryptionConfiguration encryption,
      LimiterTimer timer,
      @Named(TaskExecutors.BLOCKING) ExecutorService blocking,
      List<Listener> listeners) {
    this(place, settings, encryption, new Clock(timer, System.nanoTime()), blocking, listeners);
  }

  private SubmissionService(
      Place place,
      IdempotencyConfiguration settings,
      EncryptionConfiguration encryption,
      Clock clock,
      ExecutorService blocking,
      List<Listener> listeners) {
    RandomBytes tokens = new RandomBytes(Claim.TOKEN_BYTES, blocking);
    this.isShared = place.isShared();
    this.tried = place.tried();
    this.main =
        new Submissions(place.store(), clock, tokens, settings.maxPendingBytes(), this::ended);
    this.local =
        isShared
            ? new Submissions(
                SubmissionStores.memory(settings),
                clock,
                tokens,
                settings.maxPendingBytes(),
                this::ended)
            : main;
    this.waiting = new Waiting(this, clock, settings.maxWaiting(), settings.maxWaitingOfSubject());
    this.written = new ByteBudget(settings.maxBytesInRedis(), clock::nanos);
    this.fallback = settings.fallback();
    this.fingerprints = new Fingerprints(place.secret()::code);
    this.cipher = new AnswerCipher(encryption);
    this.nonces = new RandomBytes(AnswerCipher.NONCE_BYTES, blocking);
    this.listeners = List.copyOf(listeners);
    for (Outcome outcome :
        List.of(Outcome.LOST, Outcome.NO_ROOM, Outcome.FORBIDDEN, Outcome.GIVEN_UP)) {
      bad.put(outcome, new LogThrottle());
    }
  }

  /** A clock that begins with zero, far from its overflow. */
  private record Clock(LimiterTimer timer, long begin) implements Timing {

    @Override
    public long nanos() {
      return System.nanoTime() - begin;
    }

    @Override
    public Future<?> schedule(Runnable task, long nanos) {
      return timer.schedule(task, nanos);
    }
  }

  /**
   * The name of a submission. All names of one subject share its tag, and so the bytes that its
   * answers may take.
   *
   * @param scope distinguishes equal keys of one subject, such as those of two routes
   * @param key as the caller has sent it
   */
  static StateKey key(Subject subject, String scope, String key) {
    return StateKey.of(LIMIT, subject).answers("%s:%s%s".formatted(scope.length(), scope, key));
  }

  /** The fingerprints of this service's submissions, with the key secret. */
  Fingerprints fingerprints() {
    return fingerprints;
  }

  /**
   * Claims a submission. While another one runs under its key, waits for its end.
   *
   * @param maxWait then the other one is {@code RUNNING} still
   * @return fails with a {@link StoreException}, unless {@code limiter.idempotency.fallback} is
   *     {@code local}
   */
  CompletionStage<Attempt> claim(Request request, Duration maxWait) {
    return claim(request, maxWait, fallback);
  }

  /**
   * Like {@link #claim(Request, Duration)}, with another fallback.
   *
   * @param other {@code DENY} or {@code LOCAL}
   */
  CompletionStage<Attempt> claim(Request request, Duration maxWait, Fallback other) {
    boolean mayBeLocal = other == Fallback.LOCAL;
    return tried
        .thenCompose(done -> claim(request, mayBeLocal))
        .thenCompose(
            found ->
                found.found().kind() == Found.Kind.RUNNING
                    ? waiting.await(request, found, maxWait.toNanos(), mayBeLocal)
                    : CompletableFuture.completedFuture(found));
  }

  /** Claims a submission without waiting for another one. */
  @Override
  public CompletionStage<Attempt> claim(Request request, boolean mayBeLocal) {
    if (!isShared || !mayBeLocal) {
      return main.claim(request);
    }
    // What the memory has decided while the store was away is known to no other instance.
    return local
        .look(request)
        .thenCompose(
            found ->
                found.kind() == Found.Kind.ABSENT
                    ? composed(
                        main.claim(request),
                        claimed -> unlessHeld(local, request, claimed),
                        away -> claimLocally(request))
                    : CompletableFuture.completedFuture(new Attempt(found, null)));
  }

  private CompletionStage<Attempt> claimLocally(Request request) {
    return main.holds(request.key())
        ? CompletableFuture.completedFuture(running(request))
        : local.claim(request).thenApply(claimed -> unlessHeld(main, request, claimed));
  }

  /**
   * Gives a claim back if the other store has one, too: of two claims at once, each is there before
   * it looks for the other.
   */
  private static Attempt unlessHeld(Submissions other, Request request, Attempt claimed) {
    Held held = claimed.held();
    if (held == null || !other.holds(request.key())) {
      return claimed;
    }
    held.abandon();
    return running(request);
  }

  private static Attempt running(Request request) {
    return new Attempt(
        new Found(
            Found.Kind.RUNNING, Entry.NONE, Entry.NONE, Duration.ofNanos(request.times().claim())),
        null);
  }

  /** What follows a result of the store, or its failure to answer. */
  private static <T, R> CompletionStage<R> composed(
      CompletionStage<T> stage,
      Function<T, R> then,
      Function<StoreException, CompletionStage<R>> away) {
    return stage
        .handle(
            (result, failure) -> {
              if (failure == null) {
                return CompletableFuture.completedFuture(then.apply(result));
              }
              Throwable cause =
                  failure instanceof CompletionException ? failure.getCause() : failure;
              return cause instanceof StoreException store
                  ? away.apply(store)
                  : CompletableFuture.<R>failedFuture(failure);
            })
        .thenCompose(next -> next);
  }

  /**
   * What there is under a key, without claiming it: {@code ABSENT} if it is free. Fails as {@link
   * #claim(Request, Duration)} does.
   */
  CompletionStage<Found> look(Request request) {
    if (!isShared || fallback != Fallback.LOCAL) {
      return tried.thenCompose(done -> main.look(request));
    }
    return tried
        .thenCompose(done -> local.look(request))
        .thenCompose(
            found ->
                found.kind() == Found.Kind.ABSENT
                    ? composed(
                        main.look(request),
                        shared -> shared,
                        away ->
                            CompletableFuture.completedFuture(
                                main.holds(request.key()) ? running(request).found() : found))
                    : CompletableFuture.completedFuture(found));
  }

  /**
   * The method of a submission has ended with an answer, which is encrypted if a key is configured.
   * If it cannot be kept, the submission is done, without an answer. Nothing waits for that; the
   * claim is renewed meanwhile.
   */
  void end(Held held, StateKey key, byte[] answer) {
    if (isShared && !written.take(answer.length, held.retain())) {
      held.endWithoutRoom();
    } else if (!cipher.encrypts()) {
      held.end(End.answer(answer));
    } else {
      var unused =
          nonces
              .next()
              .thenApply(nonce -> cipher.seal(key, nonce, answer))
              .whenComplete(
                  (bytes, failure) -> held.end(failure == null ? End.answer(bytes) : End.DONE));
    }
  }

  /** The answer of which these bytes are stored; empty, which is logged, if they show none. */
  Optional<byte[]> open(StateKey key, byte[] stored) {
    return cipher.open(key, stored);
  }

  /** Forgets a submission, so that it may be made again. The end of one that runs is not kept. */
  CompletionStage<Void> forget(StateKey key) {
    return tried
        .thenCompose(done -> local.forget(key))
        .thenCompose(forgotten -> isShared ? main.forget(key) : tried);
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

  private void ended(String route, Outcome outcome) {
    switch (outcome) {
      case KEPT -> {}
      case RELEASED -> report(route, Result.RELEASED);
      case NO_ROOM ->
          warn(
              route,
              outcome,
              Result.NO_ROOM,
              "The answer to a submission has no room, so its repetitions are answered 409. The bounds are %s.max-bytes-of-subject, max-bytes-in-redis, max-bytes, max-pending-bytes, and the memory of Redis"
                  .formatted(IdempotencyConfiguration.PREFIX));
      case FORBIDDEN ->
          warn(
              route,
              outcome,
              Result.NO_ROOM,
              "The user of Redis may not run SET, so the answer to a submission was not kept, and its repetitions are answered 409: grant it SET");
      case LOST ->
          warn(
              route,
              outcome,
              Result.LOST,
              "The claim of a submission was lost before its end, so it may have run twice: Redis was away for longer than the claim, or has lost data, this process was paused, or the key was forgotten. A longer claim avoids the first of these");
      case GIVEN_UP ->
          warn(
              route,
              outcome,
              Result.GIVEN_UP,
              "The end of a submission was not stored in its time, since the store did not take it");
    }
  }

  private void warn(String route, Outcome outcome, Result result, String message) {
    report(route, result);
    LogThrottle throttle = bad.get(outcome);
    if (throttle != null && throttle.count() > 0) {
      LOG.warn("{}: {}", route, message);
    }
  }

  /** The bytes of answers that no store has yet. */
  long pendingBytes() {
    return main.pendingBytes() + (isShared ? local.pendingBytes() : 0);
  }

  /** The repetitions that wait. */
  int waiting() {
    return waiting.size();
  }

  /**
   * Writes the ends that a store does not have, once. Claims of methods that run stay, and end by
   * themselves.
   */
  @PreDestroy
  void close() {
    try {
      var unused =
          CompletableFuture.allOf(main.hurry(), local.hurry())
              .get(LAST_WRITES.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException stop) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException away) {
      LOG.warn(
          "The ends of some submissions were not stored before the end of this service: they may run again after the time of their claims");
    }
  }
}
