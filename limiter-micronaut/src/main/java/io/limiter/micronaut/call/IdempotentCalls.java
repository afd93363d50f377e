// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.core.Claim;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.Submission;
import io.limiter.core.idempotency.IdempotencyStore;
import io.limiter.core.resilience.Fallback;
import io.limiter.core.util.LogThrottle;
import io.limiter.core.util.Sha256;
import io.limiter.micronaut.call.SubmissionClaims.HeldClaim;
import io.limiter.micronaut.call.SubmissionClaims.Result;
import io.limiter.micronaut.config.LimiterConfiguration.IdempotencyConfiguration;
import io.limiter.micronaut.exception.IdempotentCallException;
import io.limiter.micronaut.exception.IdempotentCallException.KeyInUseException;
import io.limiter.micronaut.exception.IdempotentCallException.KeyReusedException;
import io.limiter.micronaut.exception.IdempotentCallException.ResultUnavailableException;
import io.limiter.micronaut.plan.DuplicateGuard.Replay;
import io.limiter.micronaut.thread.CallerThreads;
import io.limiter.micronaut.thread.CallerThreads.CallContext;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.type.Argument;
import io.micronaut.json.JsonMapper;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs work once for each key, and repeats its result: for code that no HTTP request calls, such as
 * a consumer of messages. For routes there is {@code @Idempotent}.
 *
 * <pre>{@code
 * calls.run("shipments", order.id(), Argument.of(Shipment.class), () -> ship(order));
 * }</pre>
 *
 * <p>A repetition receives the result of the first call, as JSON that Micronaut's mapper has
 * written and reads. It waits while the first one runs. Work that fails frees its key, and the
 * failure is not repeated. While a process lives, it renews the claim of the key; the key of a
 * process that has died is free after the time of the claim, and the work may run again.
 *
 * <p>Immutable: {@link #withRetain} and the other methods return a copy. While {@code
 * limiter.enabled} is false, every call runs its work.
 */
@Singleton
public final class IdempotentCalls {

  private static final Logger LOG = LoggerFactory.getLogger(IdempotentCalls.class);

  /** Distinguishes these keys from those of routes. */
  private static final String LIMIT = "io.limiter.calls";

  /** The first byte of a kept result; the others are JSON, or none for null. */
  private static final byte KEPT = 1;

  /** The only byte of a result that is not kept: the work does not run again. */
  private static final byte UNKEPT = 2;

  private final @Nullable Beans beans;
  private final Replay replay;
  private final Fallback fallback;

  @Inject
  IdempotentCalls(
      SubmissionClaims claims,
      IdempotencyStore store,
      IdempotencyConfiguration bounds,
      CallerThreads threads,
      JsonMapper json,
      List<SubmissionClaims.Listener> listeners) {
    this(
        new Beans(
            claims,
            store,
            bounds.maxAnswer(),
            threads,
            json,
            List.copyOf(listeners),
            new LogThrottle(),
            new LogThrottle()),
        new Replay(Duration.ofHours(24), Replay.CLAIM, Replay.MAX_WAIT),
        Fallback.DENY);
  }

  private IdempotentCalls(@Nullable Beans beans, Replay replay, Fallback fallback) {
    this.beans = beans;
    this.replay = replay;
    this.fallback = fallback;
  }

  /** What all copies share. */
  private record Beans(
      SubmissionClaims claims,
      IdempotencyStore store,
      int maxAnswer,
      CallerThreads threads,
      JsonMapper json,
      List<SubmissionClaims.Listener> listeners,
      LogThrottle failures,
      LogThrottle unkept) {

    void report(Result result) {
      listeners.forEach(listener -> listener.claimed(Optional.empty(), result));
    }
  }

  /** For a limiter that is switched off: every call runs its work. */
  @Internal
  public static IdempotentCalls unlimited() {
    return new IdempotentCalls(
        null, new Replay(Replay.MIN_RETAIN, Replay.CLAIM, Duration.ZERO), Fallback.ALLOW);
  }

  /** For how long a result is kept. 24 hours by default; 1 s to 366 days. */
  public IdempotentCalls withRetain(Duration retain) {
    require("retain", retain, Replay.MIN_RETAIN, Replay.MAX_RETAIN);
    return with(new Replay(retain, replay.claim(), replay.maxWait()));
  }

  /**
   * For how long a key is taken by a process that does not renew its claim. 30 s by default; 1 s to
   * 10 min. The process renews it while the work runs.
   */
  public IdempotentCalls withClaim(Duration claim) {
    require("claim", claim, Replay.MIN_CLAIM, Replay.MAX_CLAIM);
    return with(new Replay(replay.retain(), claim, replay.maxWait()));
  }

  /** For how long a repetition waits while the work runs. 2 s by default; 0 s to 30 s. */
  public IdempotentCalls withMaxWait(Duration maxWait) {
    require("maxWait", maxWait, Duration.ZERO, Replay.LONGEST_WAIT);
    return with(new Replay(replay.retain(), replay.claim(), maxWait));
  }

  /**
   * What happens to a call while Redis does not answer. By default {@link Fallback#DENY}: it fails
   * with the {@link StoreException}, and the work does not run. With {@link Fallback#ALLOW} every
   * call runs its work; with {@link Fallback#LOCAL} this instance compares its own calls.
   */
  public IdempotentCalls withFallback(Fallback other) {
    return new IdempotentCalls(beans, replay, other);
  }

  private IdempotentCalls with(Replay other) {
    return new IdempotentCalls(beans, other, fallback);
  }

  private static void require(String what, Duration time, Duration least, Duration most) {
    if (time.compareTo(least) < 0 || time.compareTo(most) > 0) {
      throw new IllegalArgumentException(
          "%s = %s: use %s to %s".formatted(what, time, least, most));
    }
  }

  /** Like {@link #run(String, String, byte[], Argument, Supplier)}, without content to compare. */
  public <T extends @Nullable Object> CompletionStage<T> run(
      String scope,
      String key,
      Argument<T> type,
      Supplier<? extends CompletionStage<? extends T>> work) {
    return run(scope, key, new byte[0], type, work);
  }

  /**
   * Runs work, unless it has run under this key, or runs.
   *
   * <p>The work begins on the calling thread if the store is in memory, else on a thread that may
   * block, with the context of the caller. The stage completes when the result is kept, or cannot
   * be; it fails as the work does.
   *
   * @param scope distinguishes the keys of one kind of work, such as the name of a queue
   * @param key identifies the call among those of its scope: any text that is not empty
   * @param content what a repetition must have, too, such as the bytes of a message; only its
   *     digest is stored
   * @param type of the result; {@link Argument#VOID} if there is none
   * @param work its stage may complete with null
   * @return fails with an {@link IdempotentCallException} if the work was not run, and its result
   *     cannot be repeated
   * @throws IllegalArgumentException if the key is empty
   */
  public <T extends @Nullable Object> CompletionStage<T> run(
      String scope,
      String key,
      byte[] content,
      Argument<T> type,
      Supplier<? extends CompletionStage<? extends T>> work) {
    StateKey submission = submission(scope, key);
    if (beans == null) {
      return started(work);
    }
    return new Call<T>(
            beans,
            replay,
            fallback,
            scope,
            new Submission(submission, Sha256.digest().digest(content), replay.claim()),
            type,
            work)
        .run();
  }

  /**
   * Forgets that the work has run, or runs, under this key: the next call runs it. The result of
   * work that runs meanwhile is not kept.
   *
   * @throws IllegalArgumentException if the key is empty
   */
  public CompletionStage<Void> reset(String scope, String key) {
    StateKey submission = submission(scope, key);
    return beans == null
        ? CompletableFuture.completedFuture(null)
        : beans.threads().back(beans.store().forget(submission), Optional.empty());
  }

  private static StateKey submission(String scope, String key) {
    if (key.isEmpty()) {
      throw new IllegalArgumentException(
          "'%s': the key is empty, so all such calls would be the same one: use the identity of the message"
              .formatted(scope));
    }
    return StateKey.of(LIMIT, new Subject("scope", scope)).answers(key);
  }

  /** Begins work. Does not throw: a failure to begin is that of the work. */
  private static <T extends @Nullable Object> CompletionStage<T> started(
      Supplier<? extends CompletionStage<? extends T>> work) {
    try {
      CompletionStage<? extends T> running =
          Objects.requireNonNull(work.get(), "The work has returned no stage");
      return running.thenApply(result -> result);
    } catch (Throwable failure) {
      return CompletableFuture.failedFuture(failure);
    }
  }

  /** One call. */
  private record Call<T extends @Nullable Object>(
      Beans beans,
      Replay replay,
      Fallback fallback,
      String scope,
      Submission submission,
      Argument<T> type,
      Supplier<? extends CompletionStage<? extends T>> work) {

    CompletionStage<T> run() {
      CallContext caller = CallContext.current();
      CompletionStage<Supplier<CompletionStage<T>>> found =
          claim(beans.claims(), caller)
              .exceptionallyCompose(failure -> withoutStore(failure, caller));
      return beans.threads().back(found, Optional.empty(), caller).thenCompose(Supplier::get);
    }

    /** Claims the key. Completes with what follows from that, on the thread of the call. */
    private CompletionStage<Supplier<CompletionStage<T>>> claim(
        SubmissionClaims from, CallContext caller) {
      return from.claim(replay, submission).thenApply(claim -> () -> goOn(from, claim, caller));
    }

    private CompletionStage<Supplier<CompletionStage<T>>> withoutStore(
        Throwable failure, CallContext caller) {
      Throwable cause = unwrapped(failure);
      if (!(cause instanceof StoreException)) {
        return CompletableFuture.failedFuture(cause);
      }
      beans
          .failures()
          .report(
              LOG,
              "Keys of '%s' cannot be claimed, since the store does not answer: %s decides"
                  .formatted(scope, fallback),
              cause);
      beans.report(Result.UNAVAILABLE);
      return switch (fallback) {
        case DENY -> CompletableFuture.failedFuture(cause);
        case ALLOW -> CompletableFuture.completedFuture(() -> started(work));
        case LOCAL -> claim(beans.claims().local(), caller);
      };
    }

    private CompletionStage<T> goOn(SubmissionClaims from, Claim claim, CallContext caller) {
      return switch (claim.state()) {
        case CLAIMED -> {
          beans.report(Result.FIRST);
          yield first(from.hold(claim, replay, () -> beans.report(Result.LOST)), caller);
        }
        case ANSWERED -> repeated(from.answer(claim).orElse(new byte[0]));
        case DIFFERENT -> {
          beans.report(Result.DIFFERENT);
          yield CompletableFuture.failedFuture(new KeyReusedException(scope));
        }
        case RUNNING -> {
          beans.report(Result.RUNNING);
          yield CompletableFuture.failedFuture(new KeyInUseException(scope));
        }
      };
    }

    private CompletionStage<T> first(HeldClaim held, CallContext caller) {
      CompletionStage<T> settled =
          IdempotentCalls.<T>started(work)
              .handle(
                  (result, failure) ->
                      failure == null
                          ? ended(held.answer(bytes(result))).thenApply(done -> result)
                          : ended(held.release())
                              .<T>thenCompose(
                                  done -> CompletableFuture.failedFuture(unwrapped(failure))))
              .thenCompose(stage -> stage);
      return beans.threads().back(settled, Optional.empty(), caller);
    }

    /** The result of the work stands, whatever the store answers. */
    private CompletionStage<Boolean> ended(CompletionStage<Boolean> claim) {
      return claim.exceptionally(
          failure -> {
            beans
                .failures()
                .report(
                    LOG,
                    "A result of '%s' could not be kept, or its key not be freed, so the claim ends by itself"
                        .formatted(scope),
                    failure);
            return false;
          });
    }

    private byte[] bytes(@Nullable T result) {
      byte[] json;
      try {
        json = result == null ? new byte[0] : beans.json().writeValueAsBytes(type, result);
      } catch (IOException | RuntimeException | StackOverflowError unwritable) {
        reportUnkept("JSON cannot represent it", unwritable);
        return new byte[] {UNKEPT};
      }
      if (json.length > beans.maxAnswer()) {
        reportUnkept(
            "it has %s bytes, more than %s.max-answer = %s"
                .formatted(json.length, IdempotencyConfiguration.PREFIX, beans.maxAnswer()),
            null);
        return new byte[] {UNKEPT};
      }
      byte[] bytes = new byte[1 + json.length];
      bytes[0] = KEPT;
      System.arraycopy(json, 0, bytes, 1, json.length);
      return bytes;
    }

    private void reportUnkept(String why, @Nullable Throwable failure) {
      if (beans.unkept().count() > 0) {
        LOG.warn(
            "A result of '{}' is not kept, so a repetition fails, and does not run: {}",
            scope,
            why,
            failure);
      }
    }

    private CompletionStage<T> repeated(byte[] bytes) {
      Throwable unreadable = null;
      boolean kept = bytes.length > 0 && bytes[0] == KEPT;
      if (kept) {
        try {
          T result =
              bytes.length == 1
                  ? null
                  : beans.json().readValue(Arrays.copyOfRange(bytes, 1, bytes.length), type);
          beans.report(Result.REPLAYED);
          return CompletableFuture.completedFuture(result);
        } catch (IOException | RuntimeException changed) { // the type is another than it was
          unreadable = changed;
        }
      }
      boolean unkept = bytes.length == 1 && bytes[0] == UNKEPT;
      beans.report(unkept ? Result.REPLAYED : Result.UNREADABLE);
      return CompletableFuture.failedFuture(new ResultUnavailableException(scope, unreadable));
    }

    private static Throwable unwrapped(Throwable failure) {
      Throwable cause = failure.getCause();
      return failure instanceof CompletionException && cause != null ? cause : failure;
    }
  }
}
