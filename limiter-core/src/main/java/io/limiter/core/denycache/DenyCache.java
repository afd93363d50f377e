// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.denycache;

import io.limiter.core.Charge;
import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.store.DelegatingStore;
import io.limiter.core.util.RotatingSearch;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.function.LongSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Answers calls without asking the store if they are known to be denied until some time, so that a
 * flood of denied calls costs the store next to nothing. Its verdicts are {@linkplain
 * io.limiter.core.DecidedBy#DENY_CACHE decided by the deny cache}; they repeat the store's
 * verdicts, with their times reduced by the time that has passed.
 *
 * <p>A denied call takes nothing. So a caller that is denied until some time stays denied until
 * then, whatever calls are made, unless units are given back, keys are reset, or a policy changes.
 * To notice these, one call asks the store again after the maximum age; until it is answered,
 * others are still denied. So a call that the store would admit is denied for at most that age and
 * the time of one answer.
 *
 * <p>Denials that may end earlier are not cached, see {@link KnownDenial}. Verdicts of a fallback
 * are never cached.
 */
public final class DenyCache extends DelegatingStore {

  /** The longest maximum age, and the default: one second. */
  public static final Duration MAX_AGE = Duration.ofSeconds(1);

  /** The default number of denied callers in the cache: {@value}. */
  public static final int DEFAULT_SIZE = 10_000;

  /** The largest size. */
  public static final int MAX_SIZE = 100_000;

  /** The times of resets that are kept; a subject shares one with a thousandth of the others. */
  private static final int RESETS = 1_024;

  private final Predicate<Policy> remembers;
  private final int size;
  private final long maxAgeNanos;
  private final LongSupplier nanos;
  private final ConcurrentMap<List<Charge>, KnownDenial> denials = new ConcurrentHashMap<>();
  private final RotatingSearch<KnownDenial> stale = new RotatingSearch<>(denials);

  /**
   * When subjects were last reset, by the hashes of their tags. What the store was asked before is
   * void, so no call searches for the denials of a subject.
   */
  private final AtomicLongArray resetNanos = new AtomicLongArray(RESETS);

  /** Creates a cache for denied calls of every policy. */
  public DenyCache(LimitStore store) {
    this(store, policy -> true, DEFAULT_SIZE, MAX_AGE);
  }

  /**
   * @param store decides calls that are not in the cache
   * @param remembers selects the policies whose denied calls are cached; for a call under several
   *     policies, the policy of its verdict
   * @param size the most denied callers in the cache, 1 to {@value #MAX_SIZE}; the store decides
   *     calls of others
   * @param maxAge the time after which the store is asked again, above zero and {@link #MAX_AGE} at
   *     most
   */
  public DenyCache(LimitStore store, Predicate<Policy> remembers, int size, Duration maxAge) {
    this(store, remembers, size, maxAge, System::nanoTime);
  }

  /**
   * @param nanos a monotonic clock in nanoseconds
   */
  public DenyCache(
      LimitStore store,
      Predicate<Policy> remembers,
      int size,
      Duration maxAge,
      LongSupplier nanos) {
    super(store);
    if (size < 1 || size > MAX_SIZE) {
      throw new IllegalArgumentException(
          "A deny cache has the size %s: use 1 to %s".formatted(size, MAX_SIZE));
    }
    if (maxAge.isNegative() || maxAge.isZero() || maxAge.compareTo(MAX_AGE) > 0) {
      throw new IllegalArgumentException(
          "A deny cache has the maximum age %s: use more than 0, and %s at most"
              .formatted(maxAge, MAX_AGE));
    }
    this.remembers = remembers;
    this.size = size;
    this.maxAgeNanos = maxAge.toNanos();
    this.nanos = nanos;
    resetAll(nanos.getAsLong() - 1);
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    if (mode != Mode.ACQUIRE || !remembers.test(request.policy())) {
      return store.decide(request, mode);
    }
    KnownDenial known = denials.get(request.charges());
    long nowNanos = nanos.getAsLong();
    if (known != null
        && !known.isOver(nowNanos)
        && !isReset(known)
        && !known.asksAgain(nowNanos, maxAgeNanos)) {
      return CompletableFuture.completedFuture(known.verdict(request, nowNanos));
    }
    return ask(request, Mode.ACQUIRE)
        .whenComplete(
            (verdict, failure) ->
                found(
                    request,
                    known,
                    verdict == null
                        ? null
                        : KnownDenial.of(request, verdict, nowNanos, nanos.getAsLong())));
  }

  /**
   * Asks the store behind this one. A store that throws, or returns no stage, fails as one whose
   * stage fails.
   */
  private CompletionStage<Verdict> ask(LimitRequest request, Mode mode) {
    try {
      CompletionStage<Verdict> verdict = store.decide(request, mode);
      if (verdict == null) {
        throw new IllegalStateException(
            "%s returned null: let decide() return a stage".formatted(store.getClass().getName()));
      }
      return verdict;
    } catch (Throwable thrown) {
      return CompletableFuture.failedFuture(thrown);
    }
  }

  /**
   * Caches what the store has answered.
   *
   * @param before what was known when it was asked
   */
  private void found(
      LimitRequest request, @Nullable KnownDenial before, @Nullable KnownDenial denial) {
    List<Charge> call = request.charges();
    if (denial == null) {
      if (before != null) {
        denials.remove(call, before);
      }
    } else if (hasRoom(call)) {
      denials.put(call, denial);
    }
  }

  private boolean hasRoom(List<Charge> call) {
    if (denials.size() < size || denials.containsKey(call)) {
      return true;
    }
    long nowNanos = nanos.getAsLong();
    stale.removeSome(denial -> denial.isStale(nowNanos, maxAgeNanos) || isReset(denial));
    return denials.size() < size;
  }

  private boolean isReset(KnownDenial denial) {
    List<Charge> charges = denial.request().charges();
    for (int c = 0; c < charges.size(); c++) {
      if (!denial.isAskedAfter(resetNanos.get(place(charges.get(c).key())))) {
        return true;
      }
    }
    return false;
  }

  private static int place(StateKey key) {
    return key.tag().hashCode() & RESETS - 1;
  }

  private void resetAll(long timeNanos) {
    for (int place = 0; place < RESETS; place++) {
      resetNanos.set(place, timeNanos);
    }
  }

  /** Empties the cache. For callers that have changed the store's content by other means. */
  public void clear() {
    resetAll(nanos.getAsLong());
    denials.clear();
  }

  /** The number of callers in the cache, including those whose denials have ended. */
  public int remembered() {
    return denials.size();
  }

  @Override
  public CompletionStage<Void> reset(Collection<StateKey> keys) {
    return forgetting(keys, store.reset(keys));
  }

  @Override
  public CompletionStage<Void> liftBans(Collection<StateKey> keys) {
    return forgetting(keys, store.liftBans(keys));
  }

  /** Forgets the denials under these keys once they are changed, or may have been. */
  private CompletionStage<Void> forgetting(
      Collection<StateKey> keys, CompletionStage<Void> change) {
    return change.whenComplete(
        (done, failure) -> {
          long nowNanos = nanos.getAsLong();
          keys.forEach(key -> resetNanos.set(place(key), nowNanos));
        });
  }

  /**
   * A call that the store has denied, and will deny until some time. This is not known
   *
   * <ul>
   *   <li>for a call that may start another ban, since denied calls count as violations; while the
   *       caller is banned, it is known until the ban ends;
   *   <li>for a duplicate, since the submission that it repeats may be released at any time;
   *   <li>for rules that count by outcome, concurrency limits, and rules that make calls wait,
   *       since permits and units come back at any time; if other rules deny the call too, these
   *       determine the time;
   *   <li>for a call that is too costly, which has no such time.
   * </ul>
   *
   * Times are nanoseconds of a monotonic clock. Thread-safe.
   *
   * @param lastAskedNanos when a call last asked the store
   */
  record KnownDenial(
      LimitRequest request,
      Verdict verdict,
      long askedNanos,
      long answeredNanos,
      long deniedNanos,
      AtomicLong lastAskedNanos) {

    /**
     * Derives what a verdict implies for later calls; null if it implies nothing.
     *
     * @param askedNanos when the store was asked: it decided then or later
     * @param answeredNanos when its answer arrived: it decided then or earlier
     */
    static @Nullable KnownDenial of(
        LimitRequest request, Verdict verdict, long askedNanos, long answeredNanos) {
      if (verdict.allowed() || verdict.decidedBy() != DecidedBy.STORE) {
        return null;
      }
      long denied = deniedNanos(request, verdict);
      return denied == 0
          ? null
          : new KnownDenial(
              request, verdict, askedNanos, answeredNanos, denied, new AtomicLong(askedNanos));
    }

    private static long deniedNanos(LimitRequest request, Verdict verdict) {
      long bans = 0;
      for (Charge charge : request.charges()) {
        bans += charge.stack().ban().isPresent() && !charge.observed() ? 1 : 0;
      }
      if (verdict.outcome() == Outcome.BANNED) {
        return bans == 1 ? nanos(verdict.ban()) : 0;
      }
      boolean duplicate = verdict.duplicate().filter(RuleVerdict::denies).isPresent();
      return verdict.outcome() != Outcome.LIMITED || bans > 0 || duplicate
          ? 0
          : deniedByRulesNanos(request, verdict);
    }

    private static long deniedByRulesNanos(LimitRequest request, Verdict verdict) {
      long longest = 0;
      int next = 0;
      int ruleCount = verdict.rules().size();
      for (Charge charge : request.charges()) {
        RuleStack stack = charge.stack();
        boolean sure =
            stack.counting() == Counting.ALL
                && stack.permitDuration().isEmpty()
                && stack.waiting().isEmpty();
        for (int r = 0; r < stack.rules().size() && next < ruleCount; r++) {
          RuleVerdict rule = verdict.rules().get(next++);
          if (rule.tooCostly() && rule.denies()) {
            return 0;
          }
          long wait = sure && rule.denies() ? nanos(rule.retryAfter()) : 0;
          if (!stack.lease().isZero()) { // units of it may be given back
            wait = Math.min(wait, stack.lease().toNanos());
          }
          longest = Math.max(longest, wait);
        }
      }
      return longest;
    }

    private static long nanos(Optional<Duration> time) {
      return time.map(Duration::toNanos).orElse(0L);
    }

    /** Whether the store was asked after this time. */
    boolean isAskedAfter(long timeNanos) {
      return askedNanos - timeNanos > 0;
    }

    /** Whether the call may be admitted by now. */
    boolean isOver(long nowNanos) {
      return nowNanos - askedNanos >= deniedNanos;
    }

    /**
     * Whether this call has to ask the store again; the others of the next maximum age need not.
     */
    boolean asksAgain(long nowNanos, long maxAgeNanos) {
      long last = lastAskedNanos.get();
      return nowNanos - last >= maxAgeNanos && lastAskedNanos.compareAndSet(last, nowNanos);
    }

    /** Whether the entry is useless: the next call would ask the store anyway. */
    boolean isStale(long nowNanos, long maxAgeNanos) {
      return isOver(nowNanos) || nowNanos - lastAskedNanos.get() >= maxAgeNanos;
    }

    /**
     * Returns the verdict on a call at this time.
     *
     * @param call a call with the same units and keys, under any policy, as any submission
     */
    Verdict verdict(LimitRequest call, long nowNanos) {
      Duration since = Duration.ofNanos(Math.max(0, nowNanos - answeredNanos) / 1_000 * 1_000);
      RuleVerdict[] rules = new RuleVerdict[verdict.rules().size()];
      for (int r = 0; r < rules.length; r++) {
        rules[r] = later(verdict.rules().get(r), since);
      }
      Verdict.Builder later =
          Verdict.of(call.policy(), verdict.outcome())
              .rules(List.of(rules))
              .decidedBy(DecidedBy.DENY_CACHE);
      if (call.duplicate().equals(request.duplicate())) {
        verdict.duplicate().ifPresent(later::duplicate);
      }
      verdict.ban().ifPresent(rest -> later.ban(minus(rest, since)));
      if (verdict.decidedAtMicros() > 0) {
        later.decidedAtMicros(verdict.decidedAtMicros() + since.toNanos() / 1_000);
      }
      return later.build();
    }

    private static RuleVerdict later(RuleVerdict rule, Duration since) {
      if (rule.rule().holdsPermits()) { // its times are its permit duration, at any time
        return rule;
      }
      return new RuleVerdict(
          rule.rule(),
          rule.violated(),
          rule.remaining(),
          rule.taken(),
          rule.retryAfter().map(wait -> minus(wait, since)),
          minus(rule.resetAfter(), since),
          minus(rule.effectiveWindow(), since),
          rule.tooCostly(),
          rule.observed(),
          rule.warnAt());
    }

    private static Duration minus(Duration time, Duration since) {
      Duration left = time.minus(since);
      return left.isNegative() ? Duration.ZERO : left;
    }
  }
}
