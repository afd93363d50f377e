// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.outage;

import io.limiter.core.FailureReason;
import io.limiter.core.Fallback;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.Reservation;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import io.limiter.core.outage.ContinuedCall.UnreportedReservation;
import io.limiter.core.store.DelegatingStore;
import io.limiter.core.store.StoreListener;
import io.limiter.core.util.LogThrottle;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the fallback of the request's policy when the store fails. Its verdicts are {@linkplain
 * io.limiter.core.DecidedBy#FALLBACK decided by the fallback} and give the reason. A reservation
 * addresses the store that decided. Closing it closes the store alone: the local store, which holds
 * nothing but memory, decides the calls that are under way.
 *
 * <p>The local store continues from what this instance knows: the store's last verdict on each
 * subject (also from a reply that arrived too late for its call), the calls that are on their way
 * to the store, and what was admitted here since. The store records what was admitted here, once,
 * before it decides the subject's next call. So while the store keeps its data, one instance alone
 * never admits more than a rule's count in any window, whichever store decides, except for
 *
 * <ul>
 *   <li>units whose report was lost, once more;
 *   <li>a verdict that arrives late: it counts from its arrival, so windows that begin with a call,
 *       and refills by interval, may come later in the fallback than in the store. If it is late by
 *       more than a window, a few more calls may pass;
 *   <li>in a call of several subjects, those after the first: their verdicts are ordered by when
 *       the store was asked, so the units of calls that were in flight together may be missed.
 * </ul>
 *
 * <p>Concurrency limits ({@link io.limiter.core.rule.ConcurrencyLimitRule}) are exempt, because
 * their permits become free when calls end. So are fallbacks that count nothing.
 */
public final class FallbackStore extends DelegatingStore {

  private static final Logger LOG = LoggerFactory.getLogger(FallbackStore.class);

  /** The default number of keys whose use is known. */
  private static final int DEFAULT_MAX_KNOWN = 100_000;

  private final LimitStore local;
  private final Function<Policy, Fallback> fallbacks;
  private final FallbackCounts counts;
  private final LongSupplier nanos;
  private final LastSeenTable known;
  private final Logger log;
  private final LogThrottle failures;
  private final LogThrottle lateness;
  private final List<StoreListener> listeners;

  /** Whether an outage has begun and its end is not logged yet. */
  private volatile boolean failing;

  /** The first attempt to connect; null once it has ended. */
  private volatile @Nullable CompletableFuture<Void> connecting;

  /** Creates a store that asks the local store under every policy. */
  public FallbackStore(LimitStore store, LimitStore local) {
    this(store, local, policy -> Fallback.LOCAL, new FallbackCounts());
  }

  /** Creates a store that knows the use of up to 100,000 keys. */
  public FallbackStore(
      LimitStore store,
      LimitStore local,
      Function<Policy, Fallback> fallbacks,
      FallbackCounts counts) {
    this(store, local, fallbacks, counts, DEFAULT_MAX_KNOWN, System::nanoTime, List.of(), LOG);
  }

  /**
   * @param local the store that decides where the fallback is {@link Fallback#LOCAL}; its stages
   *     are complete, and it {@linkplain LimitStore#adopt adopts} what is known
   * @param fallbacks the fallback of each policy; a request of several policies uses that of the
   *     policy of its verdict. Asked for each decision, by any thread, so that settings may change
   * @param counts counts every decision of a fallback
   * @param maxKnown the most keys whose use is known; for other keys the local store starts with
   *     nothing used. A key takes about 300 bytes
   * @param nanos a monotonic clock in nanoseconds
   * @param listeners receive how long the store took for each decision, by that clock
   * @param log receives the messages about failures, each at most once in 10 s
   */
  public FallbackStore(
      LimitStore store,
      LimitStore local,
      Function<Policy, Fallback> fallbacks,
      FallbackCounts counts,
      int maxKnown,
      LongSupplier nanos,
      List<StoreListener> listeners,
      Logger log) {
    super(store);
    this.local = local;
    this.fallbacks = fallbacks;
    this.counts = counts;
    this.nanos = nanos;
    this.known = new LastSeenTable(maxKnown, nanos);
    this.listeners = List.copyOf(listeners);
    this.log = log;
    this.failures = new LogThrottle(nanos);
    this.lateness = new LogThrottle(nanos);
  }

  /**
   * Delays calls while the store connects for the first time, without blocking a thread. Otherwise
   * the fallback would decide the calls of code that runs while an application starts, as if the
   * store were away.
   *
   * @param firstAttempt ends when the store can be asked, or cannot be reached; its result does not
   *     matter
   * @param longest the longest time for which a call waits
   * @return this store
   */
  public FallbackStore whileConnecting(CompletionStage<?> firstAttempt, Duration longest) {
    CompletableFuture<Void> first =
        firstAttempt
            .<Void>handle((opened, failure) -> null)
            .toCompletableFuture()
            .completeOnTimeout(null, longest.toMillis(), TimeUnit.MILLISECONDS);
    connecting = first;
    var unused = first.thenRun(() -> connecting = null);
    return this;
  }

  /** Runs an action now, or after the first attempt to connect. */
  private <T> CompletionStage<T> connected(Supplier<CompletionStage<T>> action) {
    CompletableFuture<Void> first = connecting;
    return first == null ? action.get() : first.thenCompose(ended -> action.get());
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    return connecting == null
        ? decideNow(request, mode)
        : connected(() -> decideNow(request, mode));
  }

  private CompletionStage<Verdict> decideNow(LimitRequest request, Mode mode) {
    Fallback fallback = fallbacks.apply(request.policy());
    ContinuedCall call = known(request, fallback);
    CompletionStage<Verdict> answer;
    try {
      answer = store.decide(call.asked(), mode);
      if (answer == null) {
        throw new IllegalStateException(
            "%s returned null: let decide() return a stage".formatted(store.getClass().getName()));
      }
    } catch (Throwable thrown) { // the store may be the application's
      answer = CompletableFuture.failedFuture(thrown);
    }
    return answer.handle(
        (verdict, failure) -> {
          if (failure != null) {
            return decide(fallback, call, mode, unwrap(failure));
          }
          report(call, null);
          if (failing) {
            logEnd();
          }
          call.answered(verdict);
          return mode == Mode.ACQUIRE && verdict != null ? call.withHeldGuard(verdict) : verdict;
        });
  }

  private ContinuedCall known(LimitRequest request, Fallback fallback) {
    return fallback == Fallback.LOCAL ? known.call(request) : known.uncounted(request);
  }

  /** Remembers the units of a lease as those of a call; the fallback grants none. */
  @Override
  public CompletionStage<Grant> lease(LimitRequest units, Duration time) {
    ContinuedCall call = known(units, fallbacks.apply(units.policy()));
    CompletionStage<Grant> granted;
    try {
      granted = Objects.requireNonNull(store.lease(call.asked(), time), "a stage");
    } catch (RuntimeException thrown) {
      granted = CompletableFuture.failedFuture(thrown);
    }
    return granted.whenComplete(
        (grant, failure) -> {
          if (failure == null) {
            call.answered(grant.verdict());
          } else {
            call.unanswered();
          }
        });
  }

  private void report(ContinuedCall call, @Nullable FailureReason failure) {
    if (!listeners.isEmpty()) {
      long took = nanos.getAsLong() - call.askedNanos();
      for (StoreListener listener : listeners) {
        listener.ended(took, failure);
      }
    }
  }

  private void log(StoreException failure) {
    boolean late = failure.reason() == FailureReason.PROCESS_LATE;
    long decisions = (late ? lateness : failures).count();
    if (!late) {
      failing = true;
    }
    if (decisions > 0) {
      log.warn(
          "{} ({}): {}. Fallback decisions since the last message: {}",
          late ? "Event loop stalled past the hard deadline" : "The limit store failed",
          failure.reason(),
          failure.getMessage(),
          decisions);
    }
  }

  private void logEnd() {
    LogThrottle.Series outage = failures.ended();
    if (outage != null) {
      failing = false;
      log.info(
          "The limit store decides again. Fallback decisions: {}, within {} s",
          outage.events(),
          outage.time().toSeconds());
    }
  }

  /** Decides a call that the store has not decided, or not in time. */
  private Verdict decide(Fallback fallback, ContinuedCall call, Mode mode, Throwable failure) {
    call.unanswered();
    if (!(failure instanceof StoreException why)) {
      throw new CompletionException(failure);
    }
    report(call, why.reason());
    log(why);
    Policy policy = call.request().policy();
    counts.count(fallback, why.reason());
    Verdict verdict =
        switch (fallback) {
          case LOCAL -> call.decide(local, () -> decideLocally(call, mode, why));
          case ALLOW -> Verdict.of(policy, Outcome.ALLOWED).build();
          case DENY -> Verdict.of(policy, Outcome.UNAVAILABLE).build();
        };
    if (!verdict.allowed() && mode == Mode.ACQUIRE) {
      why.late().ifPresent(late -> late.thenAccept(FallbackStore::release));
    }
    return verdict.fromFallback(why);
  }

  /**
   * The store has taken the guard of a call that the fallback has denied: nothing was submitted. A
   * failure is repeated once, since the caller has no reservation that it could release.
   */
  private static void release(@Nullable Verdict found) {
    if (found != null) {
      Reservation taken = found.reservation();
      var unused = taken.release().exceptionallyCompose(failure -> taken.release());
    }
  }

  private Verdict decideLocally(ContinuedCall call, Mode mode, StoreException why) {
    CompletableFuture<Verdict> stage = local.decide(call.request(), mode).toCompletableFuture();
    if (!stage.isDone()) {
      throw new IllegalStateException(
          "The fallback LOCAL did not decide at once: use a store in memory");
    }
    Verdict verdict = stage.join(); // it is complete
    if (verdict == null) {
      throw new IllegalStateException("The fallback LOCAL gave no verdict");
    }
    UnreportedReservation taken =
        verdict.allowed() && mode != Mode.PEEK ? call.admitted(verdict) : null;
    why.late()
        .ifPresent(
            late ->
                late.thenAccept(
                    found -> {
                      call.learn(found);
                      if (taken != null && found.allowed()) {
                        taken.takenByTheStore(call.withHeldGuard(found).reservation());
                      }
                    }));
    return taken == null ? verdict : verdict.withReservation(taken);
  }

  /** Resets both stores; fails if the store does. */
  @Override
  public CompletionStage<Void> reset(Collection<StateKey> keys) {
    return changeBoth(each -> each.reset(keys), () -> known.forget(keys));
  }

  /** Lifts bans in both stores; fails if the store does. */
  @Override
  public CompletionStage<Void> liftBans(Collection<StateKey> keys) {
    return changeBoth(each -> each.liftBans(keys), () -> known.liftBans(keys));
  }

  /**
   * @param forget discards what is known, before the change and after it
   */
  private CompletionStage<Void> changeBoth(
      Function<LimitStore, CompletionStage<Void>> change, Runnable forget) {
    return connected(
        () -> {
          forget.run();
          return change
              .apply(local)
              .thenCompose(done -> change.apply(store))
              .whenComplete((done, failure) -> forget.run());
        });
  }

  private static Throwable unwrap(Throwable failure) {
    return failure instanceof CompletionException && failure.getCause() != null
        ? failure.getCause()
        : failure;
  }
}
