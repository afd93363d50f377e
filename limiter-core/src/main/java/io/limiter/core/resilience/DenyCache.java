// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.Policy;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Answers a call that is known to be refused until some time without asking the store, so that a
 * flood of refused calls costs the store next to nothing. Its verdicts name {@link
 * io.limiter.core.DecidedBy#DENY_CACHE}; they are the store's, with the times that have passed
 * since taken off.
 *
 * <p>A refused call takes nothing, so whoever is refused until some time is refused until then,
 * whatever else he or others call; unless units are given back, keys are reset, or a policy
 * changes. For those the store is looked at again after the maximum age, by one call at a time;
 * others wait for what it finds. So a call that the store would admit is refused for that age at
 * most.
 *
 * <p>What is not known to stay refused is asked for each time: {@link KnownDenial} says which.
 * Verdicts of a fallback are never kept.
 */
public final class DenyCache implements LimitStore {

  /** The longest age there can be, and the default: one second. */
  public static final Duration MAX_AGE = Duration.ofSeconds(1);

  /** The default number of callers that are known to be refused at the same time: {@value}. */
  public static final int DEFAULT_SIZE = 10_000;

  /** The largest number there can be: it is searched on the threads that ask. */
  public static final int MAX_SIZE = 100_000;

  /** Nobody waits for what is found. */
  private static final CompletableFuture<Optional<KnownDenial>> NOBODY =
      CompletableFuture.completedFuture(Optional.empty());

  /** While the cache is full, it is searched for what is of no use any more so often. */
  private static final long SWEEP_NANOS = Duration.ofMillis(100).toNanos();

  private final LimitStore store;
  private final Predicate<Policy> remembers;
  private final int size;
  private final long maxAge;
  private final LongSupplier nanos;
  private final Map<List<Charge>, KnownDenial> denials = new ConcurrentHashMap<>();
  private final AtomicLong swept;

  /** When something was forgotten last: what the store was asked before is not remembered. */
  private volatile long forgotten;

  /** Remembers refused calls of every policy. */
  public DenyCache(LimitStore store) {
    this(store, policy -> true, DEFAULT_SIZE, MAX_AGE);
  }

  /**
   * @param store is asked for what is not known
   * @param remembers the policies whose refused calls are remembered; a call under several has the
   *     one that its verdict bears
   * @param size refused callers that are remembered at the same time, 1 to {@value #MAX_SIZE};
   *     calls of others are asked for
   * @param maxAge the time after which the store is looked at again, above zero and {@link
   *     #MAX_AGE} at most
   */
  public DenyCache(LimitStore store, Predicate<Policy> remembers, int size, Duration maxAge) {
    this(store, remembers, size, maxAge, System::nanoTime);
  }

  /**
   * @param nanos a clock that is never set back, in nanoseconds
   */
  public DenyCache(
      LimitStore store,
      Predicate<Policy> remembers,
      int size,
      Duration maxAge,
      LongSupplier nanos) {
    if (size < 1 || size > MAX_SIZE) {
      throw new IllegalArgumentException(
          "A deny cache of the size %d: give it 1 to %d".formatted(size, MAX_SIZE));
    }
    if (maxAge.isNegative() || maxAge.isZero() || maxAge.compareTo(MAX_AGE) > 0) {
      throw new IllegalArgumentException(
          "A deny cache of the age %s: give it more than 0, and %s at most"
              .formatted(maxAge, MAX_AGE));
    }
    this.store = store;
    this.remembers = remembers;
    this.size = size;
    this.maxAge = maxAge.toNanos();
    this.nanos = nanos;
    this.swept = new AtomicLong(nanos.getAsLong() - SWEEP_NANOS);
    this.forgotten = nanos.getAsLong() - 1;
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    if (mode != Mode.ACQUIRE || !remembers.test(request.policy())) {
      return store.decide(request, mode);
    }
    List<Charge> call = request.charges();
    KnownDenial known = denials.get(call);
    if (known == null) {
      return look(request, NOBODY);
    }
    long now = nanos.getAsLong();
    if (known.isOver(now)) {
      return look(request, NOBODY);
    }
    if (known.isYoung(now, maxAge)) {
      return CompletableFuture.completedFuture(known.verdict(request, now));
    }
    CompletableFuture<Optional<KnownDenial>> own = new CompletableFuture<>();
    CompletableFuture<Optional<KnownDenial>> others = known.begin(own);
    return others == null
        ? look(request, own)
        : others.thenCompose(
            found ->
                found.isPresent()
                    ? CompletableFuture.completedFuture(
                        found.get().verdict(request, nanos.getAsLong()))
                    : store.decide(request, Mode.ACQUIRE));
  }

  /**
   * Asks the store.
   *
   * @param waiting is told what is found
   */
  private CompletionStage<Verdict> look(
      LimitRequest request, CompletableFuture<Optional<KnownDenial>> waiting) {
    long asked = nanos.getAsLong();
    CompletionStage<Verdict> looked;
    try {
      looked = store.decide(request, Mode.ACQUIRE);
    } catch (RuntimeException thrown) {
      found(request, null, waiting);
      throw thrown;
    }
    if (looked == null) { // whoever asks says who gave no answer
      found(request, null, waiting);
      return looked;
    }
    return looked.whenComplete(
        (verdict, failure) ->
            found(
                request,
                verdict == null || verdict.allowed()
                    ? null
                    : KnownDenial.of(request, verdict, asked, nanos.getAsLong()),
                waiting));
  }

  @SuppressWarnings("ReferenceEquality") // one that stands for none
  private void found(
      LimitRequest request,
      @Nullable KnownDenial denial,
      CompletableFuture<Optional<KnownDenial>> waiting) {
    List<Charge> call = request.charges();
    if (denial == null) {
      if (waiting != NOBODY) { // else nothing was known, or what was is over
        denials.remove(call);
      }
    } else if (hasRoom(call)) {
      denials.put(call, denial);
      if (!denial.isAskedAfter(forgotten)) { // a reset may have come in between
        denials.remove(call, denial);
      }
    }
    waiting.complete(Optional.ofNullable(denial));
  }

  private boolean hasRoom(List<Charge> call) {
    if (denials.size() < size || denials.containsKey(call)) {
      return true;
    }
    long now = nanos.getAsLong();
    long last = swept.get();
    if (now - last >= SWEEP_NANOS && swept.compareAndSet(last, now)) {
      denials.values().removeIf(denial -> denial.isStale(now, maxAge));
    }
    return denials.size() < size;
  }

  /** Forgets who is refused: for whoever has changed the store's content by other means. */
  public void clear() {
    forgotten = nanos.getAsLong();
    denials.clear();
  }

  /** Callers that are remembered, also those whose time has passed meanwhile. */
  int remembered() {
    return denials.size();
  }

  @Override
  public CompletionStage<Void> reset(Collection<StateKey> keys) {
    return store
        .reset(keys)
        .whenComplete(
            (done, failure) -> {
              forgotten = nanos.getAsLong();
              denials.values().removeIf(denial -> denial.isUnder(keys));
            });
  }

  @Override
  public void close() {
    store.close();
  }
}
