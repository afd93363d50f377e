// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import io.limiter.core.Charge;
import io.limiter.core.Completion;
import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.Outcome;
import io.limiter.core.Reservation;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
import io.limiter.core.util.LogThrottle;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongSupplier;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks the fallback of the request's policy when the store fails. Its verdicts are {@linkplain
 * io.limiter.core.DecidedBy#FALLBACK decided by the fallback} and give the reason. A reservation
 * addresses the store that decided.
 *
 * <p>The local store continues from what this instance knows: the store's last verdict on each
 * subject (also from a reply that arrived too late for its call), the calls that are on their way
 * to the store, and what was admitted here since. The store records what was admitted here before
 * it decides the subject's next call. So while the store keeps its data, one instance alone never
 * admits more than a rule's count in any window, whichever store decides. Concurrency limits
 * ({@link io.limiter.core.rule.ConcurrencyLimitRule}) are exempt, because their permits become free
 * when calls end. So are fallbacks that count nothing.
 */
public final class FallbackStore implements LimitStore {

  private static final Logger LOG = LoggerFactory.getLogger(FallbackStore.class);

  /** The default number of keys whose use is known. */
  public static final int DEFAULT_MAX_KNOWN = 100_000;

  private final LimitStore store;
  private final LimitStore local;
  private final FallbackPolicies fallbacks;
  private final FallbackCounts counts;
  private final LongSupplier nanos;
  private final KnownSubjectTable known;
  private final LimitStore allow = new FixedAnswerStore(Outcome.ALLOWED);
  private final LimitStore deny = new FixedAnswerStore(Outcome.UNAVAILABLE);
  private final Logger log;
  private final LogThrottle failures;
  private final LogThrottle lateness;
  private final List<StoreListener> listeners;

  /** Creates a store that asks the local store under every policy. */
  public FallbackStore(LimitStore store, LimitStore local) {
    this(store, local, FallbackPolicies.of(Fallback.LOCAL), new FallbackCounts());
  }

  /** Creates a store that knows the use of up to {@value #DEFAULT_MAX_KNOWN} keys. */
  public FallbackStore(
      LimitStore store, LimitStore local, FallbackPolicies fallbacks, FallbackCounts counts) {
    this(store, local, fallbacks, counts, DEFAULT_MAX_KNOWN, System::nanoTime);
  }

  /**
   * @param local the store that decides where the fallback is {@link Fallback#LOCAL}; its stages
   *     are complete, and it {@linkplain LimitStore#adopt adopts} what is known
   * @param counts counts every decision of a fallback
   * @param maxKnown the most keys whose use is known; for other keys the local store starts with
   *     nothing used. A key takes about 300 bytes
   * @param nanos a monotonic clock in nanoseconds
   */
  public FallbackStore(
      LimitStore store,
      LimitStore local,
      FallbackPolicies fallbacks,
      FallbackCounts counts,
      int maxKnown,
      LongSupplier nanos) {
    this(store, local, fallbacks, counts, maxKnown, nanos, List.of());
  }

  /**
   * @param listeners receive how long the store took for each decision, by the clock {@code nanos}
   */
  public FallbackStore(
      LimitStore store,
      LimitStore local,
      FallbackPolicies fallbacks,
      FallbackCounts counts,
      int maxKnown,
      LongSupplier nanos,
      List<StoreListener> listeners) {
    this(store, local, fallbacks, counts, maxKnown, nanos, listeners, LOG);
  }

  /**
   * @param log receives the messages about failures, each at most once in 10 s
   */
  public FallbackStore(
      LimitStore store,
      LimitStore local,
      FallbackPolicies fallbacks,
      FallbackCounts counts,
      int maxKnown,
      LongSupplier nanos,
      Logger log) {
    this(store, local, fallbacks, counts, maxKnown, nanos, List.of(), log);
  }

  private FallbackStore(
      LimitStore store,
      LimitStore local,
      FallbackPolicies fallbacks,
      FallbackCounts counts,
      int maxKnown,
      LongSupplier nanos,
      List<StoreListener> listeners,
      Logger log) {
    this.listeners = List.copyOf(listeners);
    this.store = store;
    this.local = local;
    this.fallbacks = fallbacks;
    this.counts = counts;
    this.nanos = nanos;
    this.known = new KnownSubjectTable(maxKnown, nanos);
    this.log = log;
    this.failures = new LogThrottle(nanos);
    this.lateness = new LogThrottle(nanos);
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    return new Decision(request, mode, fallbacks.of(request.policy())).decide();
  }

  private void log(StoreException failure) {
    boolean late = failure.reason() == FailureReason.PROCESS_LATE;
    long decisions = (late ? lateness : failures).count();
    if (decisions > 0) {
      log.warn(
          "{} ({}): {}. Decisions taken by the fallback since the last message: {}",
          late ? "This process is late, not the limit store" : "The limit store fails",
          failure.reason(),
          failure.getMessage(),
          decisions);
    }
  }

  /** One call, from the store to the fallback. */
  private final class Decision extends CompletableFuture<Verdict> {

    private final LimitRequest request;
    private final Mode mode;
    private final Fallback fallback;
    private final @Nullable KnownSubject[] subjects;
    private LimitRequest asked;
    private long askedAt;

    Decision(LimitRequest request, Mode mode, Fallback fallback) {
      this.request = request;
      this.mode = mode;
      this.fallback = fallback;
      this.asked = request;
      this.subjects = fallback == Fallback.LOCAL ? known.of(request) : NONE;
    }

    CompletionStage<Verdict> decide() {
      askedAt = nanos.getAsLong();
      if (subjects.length > 0) {
        known.sent(
            request,
            subjects); // first of all, so that later decisions of the fallback include this call
        asked = known.withPast(request, subjects, askedAt);
      }
      boolean asks = false;
      try {
        ask().whenComplete(this::answered);
        asks = true;
      } finally {
        if (!asks) { // a store of the application that throws, or returns no stage
          known.unanswered(request, subjects);
        }
      }
      return this;
    }

    /** A store of the application may throw instead of completing its stage exceptionally. */
    private CompletionStage<Verdict> ask() {
      try {
        return store.decide(asked, mode);
      } catch (StoreException thrown) {
        return CompletableFuture.failedFuture(thrown);
      }
    }

    private void answered(@Nullable Verdict verdict, @Nullable Throwable failure) {
      if (failure == null) {
        report(null);
        learn(verdict, false);
        complete(verdict);
        return;
      }
      known.unanswered(request, subjects);
      if (unwrap(failure) instanceof StoreException why) {
        report(why.reason());
        log(why);
        decideWithout(why);
      } else {
        completeExceptionally(failure);
      }
    }

    private void report(@Nullable FailureReason failure) {
      if (!listeners.isEmpty()) {
        long took = nanos.getAsLong() - askedAt;
        for (StoreListener listener : listeners) {
          listener.ended(took, failure);
        }
      }
    }

    private void learn(@Nullable Verdict verdict, boolean late) {
      if (subjects.length == 0) {
        return;
      }
      if (verdict != null && verdict.decidedBy() == DecidedBy.STORE) {
        known.learn(asked, subjects, verdict, mode, askedAt, late);
      } else if (!late) {
        known.unanswered(request, subjects);
      }
    }

    private void decideWithout(StoreException why) {
      counts.count(fallback, why.reason());
      Verdict verdict;
      try {
        verdict =
            switch (fallback) {
              case LOCAL -> decideLocally(why);
              case ALLOW -> decided(allow.decide(request, mode));
              case DENY -> decided(deny.decide(request, mode));
            };
      } catch (CompletionException failed) {
        completeExceptionally(unwrap(failed));
        return;
      } catch (RuntimeException broken) { // otherwise the caller would wait forever
        completeExceptionally(broken);
        return;
      }
      complete(verdict.fromFallback(why));
    }

    private Verdict decideLocally(StoreException why) {
      return known.decide(
          request,
          subjects,
          local,
          () -> {
            Verdict verdict = decided(local.decide(request, mode));
            if (!verdict.allowed() || mode == Mode.PEEK) {
              why.late().ifPresent(late -> late.thenAccept(found -> learn(found, true)));
              return verdict;
            }
            KnownSubjectTable.UnreportedUnits owed =
                known.owed(request, subjects, verdict, nanos.getAsLong());
            why.late().ifPresent(late -> late.thenAccept(found -> learnLate(found, owed)));
            return verdict.withReservation(
                new UnreportedReservation(verdict.reservation(), request, owed));
          });
    }

    /** If the store has taken the units of this call after all, they need not be reported to it. */
    private void learnLate(Verdict found, KnownSubjectTable.UnreportedUnits owed) {
      learn(found, true);
      if (found.allowed()) {
        owed.giveBack(Charge::cost);
      }
    }

    private Verdict decided(CompletionStage<Verdict> stage) {
      CompletableFuture<Verdict> future = stage.toCompletableFuture();
      if (!future.isDone()) {
        throw new IllegalStateException(
            "The fallback " + fallback + " did not decide at once: give it a store in memory");
      }
      Verdict verdict = future.join(); // it is complete
      if (verdict == null) {
        throw new IllegalStateException("The fallback " + fallback + " gave no verdict");
      }
      return verdict;
    }
  }

  private static final @Nullable KnownSubject[] NONE = {};

  /** Gives units back to the local store; units given back need not be reported to the store. */
  private static final class UnreportedReservation implements Reservation {

    private final Reservation reservation;
    private final LimitRequest request;
    private final KnownSubjectTable.UnreportedUnits owed;
    private final AtomicBoolean ended = new AtomicBoolean();

    UnreportedReservation(
        Reservation reservation, LimitRequest request, KnownSubjectTable.UnreportedUnits owed) {
      this.reservation = reservation;
      this.request = request;
      this.owed = owed;
    }

    @Override
    public CompletionStage<Long> refund() {
      returnGuard();
      if (!ended.getAndSet(true)) {
        returnRules(Charge::cost);
      }
      return reservation.refund();
    }

    @Override
    public CompletionStage<Long> release() {
      returnGuard();
      return reservation.release();
    }

    @Override
    public CompletionStage<Long> settle(Completion completion) {
      Completion costed;
      try {
        costed = completion.withKnownCosts(request.charges());
      } catch (RuntimeException broken) {
        return CompletableFuture.failedFuture(broken);
      }
      if (!ended.getAndSet(true)) {
        returnRules(costed::returned);
      }
      return reservation.settle(costed);
    }

    private void returnRules(ToIntFunction<Charge> units) {
      owed.giveBack(charge -> request.charges().contains(charge) ? units.applyAsInt(charge) : 0);
    }

    private void returnGuard() {
      request
          .duplicate()
          .ifPresent(guard -> owed.giveBack(charge -> charge.equals(guard) ? guard.cost() : 0));
    }

    @Override
    public CompletionStage<Long> renewPermits() {
      return reservation.renewPermits();
    }

    @Override
    public Optional<Duration> permitDuration() {
      return reservation.permitDuration();
    }
  }

  /** Resets both stores; fails if the store does. */
  @Override
  public CompletionStage<Void> reset(Collection<StateKey> keys) {
    known.forget(keys);
    return local
        .reset(keys)
        .thenCompose(done -> store.reset(keys))
        .whenComplete((done, failure) -> known.forget(keys));
  }

  /** Lifts them in both stores; fails if the store does. */
  @Override
  public CompletionStage<Void> liftBans(Collection<StateKey> keys) {
    known.liftBans(keys);
    return local
        .liftBans(keys)
        .thenCompose(done -> store.liftBans(keys))
        .whenComplete((done, failure) -> known.liftBans(keys));
  }

  private static Throwable unwrap(Throwable failure) {
    return failure instanceof CompletionException && failure.getCause() != null
        ? failure.getCause()
        : failure;
  }

  @Override
  public void close() {
    try (local) {
      store.close();
    }
  }
}
