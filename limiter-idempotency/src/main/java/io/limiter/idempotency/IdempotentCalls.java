// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.core.FailureReason;
import io.limiter.core.Fallback;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.util.LogThrottle;
import io.limiter.idempotency.Holding.Times;
import io.limiter.idempotency.IdempotentCallException.KeyInUseException;
import io.limiter.idempotency.IdempotentCallException.KeyReusedException;
import io.limiter.idempotency.IdempotentCallException.ResultUnavailableException;
import io.limiter.idempotency.SubmissionService.Result;
import io.limiter.idempotency.Submissions.Attempt;
import io.limiter.idempotency.Submissions.Held;
import io.limiter.idempotency.Submissions.Request;
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

  /** The first byte of a kept result; the others are JSON, or none for null. */
  private static final byte KEPT = 1;

  private final @Nullable Beans beans;
  private final Duration retain;
  private final Duration claim;
  private final Duration maxWait;
  private final Fallback fallback;

  @Inject
  IdempotentCalls(
      SubmissionService submissions,
      IdempotencyConfiguration settings,
      CallerThreads threads,
      JsonMapper json) {
    this(
        new Beans(submissions, settings, threads, json, new LogThrottle(), new LogThrottle()),
        Terms.RETAIN,
        Terms.CLAIM,
        Terms.MAX_WAIT,
        Fallback.DENY);
  }

  private IdempotentCalls(
      @Nullable Beans beans, Duration retain, Duration claim, Duration maxWait, Fallback fallback) {
    this.beans = beans;
    this.retain = retain;
    this.claim = claim;
    this.maxWait = maxWait;
    this.fallback = fallback;
  }

  /** What all copies share. */
  private record Beans(
      SubmissionService submissions,
      IdempotencyConfiguration settings,
      CallerThreads threads,
      JsonMapper json,
      LogThrottle failures,
      LogThrottle unkept) {}

  /** For a limiter that is switched off: every call runs its work. */
  @Internal
  public static IdempotentCalls unlimited() {
    return new IdempotentCalls(null, Terms.RETAIN, Terms.CLAIM, Terms.MAX_WAIT, Fallback.DENY);
  }

  /** For how long a result is kept. 24 hours by default; 1 s to 366 days. */
  public IdempotentCalls withRetain(Duration other) {
    require("retain", other, Terms.MIN_RETAIN, Terms.MAX_RETAIN);
    return new IdempotentCalls(beans, other, claim, maxWait, fallback);
  }

  /**
   * For how long a key is taken by a process that does not renew its claim. 30 s by default; 1 s to
   * 10 min. The process renews it while the work runs, for {@code limiter.idempotency.longest-run}
   * at most.
   */
  public IdempotentCalls withClaim(Duration other) {
    require("claim", other, Terms.MIN_CLAIM, Terms.MAX_CLAIM);
    return new IdempotentCalls(beans, retain, other, maxWait, fallback);
  }

  /** For how long a repetition waits while the work runs. 2 s by default; 0 s to 30 s. */
  public IdempotentCalls withMaxWait(Duration other) {
    require("maxWait", other, Duration.ZERO, Terms.LONGEST_WAIT);
    return new IdempotentCalls(beans, retain, claim, other, fallback);
  }

  /**
   * What happens to a call while Redis does not answer. By default {@link Fallback#DENY}: it fails
   * with the {@link StoreException}, and the work does not run. With {@link Fallback#LOCAL} this
   * instance compares its own calls.
   *
   * @throws IllegalArgumentException if it is {@link Fallback#ALLOW}
   */
  public IdempotentCalls withFallback(Fallback other) {
    if (other == Fallback.ALLOW) {
      throw new IllegalArgumentException(
          "fallback = ALLOW: then work would run again while Redis is away: use DENY, or LOCAL, so that this instance compares its own calls");
    }
    return new IdempotentCalls(beans, retain, claim, maxWait, other);
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
   * block, with the context of the caller. The stage completes as the work does, and does not wait
   * until its result is kept: that is written until the store has it.
   *
   * @param scope distinguishes the keys of one kind of work, such as the name of a queue
   * @param key identifies the call among those of its scope: any text that is not empty
   * @param content what a repetition must have, too, such as the bytes of a message; only its
   *     digest is stored
   * @param type of the result; {@link Argument#VOID} if there is none
   * @param work its stage may complete with null
   * @return fails with an {@link IdempotentCallException} if the work was not run, and its result
   *     cannot be repeated; with a {@link StoreException} if the store does not answer
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
    Fingerprints fingerprints = beans.submissions().fingerprints();
    Fingerprints.Code body = fingerprints.body(submission);
    body.update(content);
    Request request =
        new Request(
            submission,
            fingerprints.head(submission, scope),
            body.end(),
            Times.of(claim, retain, beans.settings().longestRun()),
            scope);
    return new Call<T>(beans, request, type, work).run(maxWait, fallback);
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
        : beans.threads().resume(beans.submissions().forget(submission), Optional.empty());
  }

  /** Each call is a subject: the bounds of a caller are not those of a queue. */
  private static StateKey submission(String scope, String key) {
    if (key.isEmpty()) {
      throw new IllegalArgumentException(
          "'%s': the key is empty, so all such calls would be the same one: use the identity of the message"
              .formatted(scope));
    }
    return SubmissionService.key(new Subject("call", scope + '\n' + key), "calls", key);
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

  /** One call of {@link #run}. */
  private record Call<T extends @Nullable Object>(
      Beans beans,
      Request request,
      Argument<T> type,
      Supplier<? extends CompletionStage<? extends T>> work) {

    CompletionStage<T> run(Duration maxWait, Fallback fallback) {
      CallContext caller = CallContext.current();
      CompletionStage<Attempt> claimed =
          beans
              .submissions()
              .claim(request, maxWait, fallback)
              .whenComplete(
                  (found, failure) -> {
                    if (failure != null) {
                      unavailable(failure);
                    }
                  });
      return beans
          .threads()
          .resume(claimed, Optional.empty(), caller)
          .thenCompose(this::runOrRepeat);
    }

    private void unavailable(Throwable failure) {
      beans
          .failures()
          .report(
              LOG,
              "Keys of '%s' cannot be claimed, since the store does not answer"
                  .formatted(request.route()),
              unwrapped(failure));
      report(Result.UNAVAILABLE);
    }

    private void report(Result result) {
      beans.submissions().report(request.route(), result);
    }

    private CompletionStage<T> runOrRepeat(Attempt found) {
      String scope = request.route();
      Held held = found.held();
      if (held != null) {
        if (held.enter()) {
          report(Result.FIRST);
          return first(held);
        }
        report(Result.UNAVAILABLE);
        return CompletableFuture.failedFuture(
            new StoreException(
                FailureReason.TIMEOUT, "The claim of a key has ended before its work began", null));
      }
      return switch (found.found().kind()) {
        case ANSWERED -> repeated(found.found().answer());
        case DIFFERENT -> {
          report(Result.DIFFERENT);
          yield CompletableFuture.failedFuture(new KeyReusedException(scope));
        }
        case DONE -> {
          report(Result.DONE);
          yield CompletableFuture.failedFuture(new ResultUnavailableException(scope, null));
        }
        case RUNNING, CLAIMED, ABSENT, UNREAD -> {
          report(Result.RUNNING);
          yield CompletableFuture.failedFuture(new KeyInUseException(scope));
        }
      };
    }

    private CompletionStage<T> first(Held held) {
      return IdempotentCalls.<T>started(work)
          .whenComplete(
              (result, failure) -> {
                if (failure != null) {
                  held.end(End.RELEASE);
                } else {
                  end(held, result);
                }
              });
    }

    private void end(Held held, @Nullable T result) {
      byte[] json;
      try {
        json = result == null ? Entry.NONE : beans.json().writeValueAsBytes(type, result);
      } catch (IOException | RuntimeException | StackOverflowError unwritable) {
        reportUnkept("JSON cannot represent it", unwritable);
        held.end(End.DONE);
        return;
      }
      int maxAnswer = beans.settings().maxAnswer();
      if (json.length > maxAnswer) {
        reportUnkept(
            "it has %s bytes, more than %s.max-answer = %s"
                .formatted(json.length, IdempotencyConfiguration.PREFIX, maxAnswer),
            null);
        held.end(End.DONE);
        return;
      }
      byte[] bytes = new byte[1 + json.length];
      bytes[0] = KEPT;
      System.arraycopy(json, 0, bytes, 1, json.length);
      beans.submissions().end(held, request.key(), bytes);
    }

    private void reportUnkept(String why, @Nullable Throwable failure) {
      if (beans.unkept().count() > 0) {
        LOG.warn(
            "A result of '{}' is not kept, so a repetition fails, and does not run: {}",
            request.route(),
            why,
            failure);
      }
    }

    private CompletionStage<T> repeated(byte[] stored) {
      Throwable unreadable = null;
      byte[] bytes = beans.submissions().open(request.key(), stored).orElse(Entry.NONE);
      if (bytes.length > 0 && bytes[0] == KEPT) {
        try {
          T result =
              bytes.length == 1
                  ? null
                  : beans.json().readValue(Arrays.copyOfRange(bytes, 1, bytes.length), type);
          report(Result.REPLAYED);
          return CompletableFuture.completedFuture(result);
        } catch (IOException | RuntimeException changed) { // the type is another than it was
          unreadable = changed;
        }
      }
      report(Result.UNREADABLE);
      return CompletableFuture.failedFuture(
          new ResultUnavailableException(request.route(), unreadable));
    }

    private static Throwable unwrapped(Throwable failure) {
      Throwable cause = failure.getCause();
      return failure instanceof CompletionException && cause != null ? cause : failure;
    }
  }
}
