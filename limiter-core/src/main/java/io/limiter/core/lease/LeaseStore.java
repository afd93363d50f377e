// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.lease;

import io.limiter.core.Charge;
import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.store.DelegatingStore;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides calls of hot subjects by units that the store has granted in advance, under rules with a
 * {@linkplain RuleStack#withLease lease}. Its verdicts are {@linkplain DecidedBy#LEASE decided by a
 * lease}. The store decides everything else: subjects with few calls, the last units before a
 * limit, and every denial. A call of several subjects spends the leases it has, then the store
 * decides the rest of it; if the store denies it, the units go back.
 *
 * <p>No call waits, and no lock is taken. The store is asked for units while calls go on: a little
 * more than once in the time of a lease for each hot subject, more often while the subject gets
 * hotter. Units that are left at the end of a lease go back with the next call of the subject, when
 * {@link #units} are read, or when this store is closed.
 */
public final class LeaseStore extends DelegatingStore {

  /** A subject is hot if its calls cost as many units within the time of a lease. */
  private static final int HOT_UNITS = 10;

  /** A lease is a little smaller than the demand, so that most have no units to give back. */
  private static final double OF_DEMAND = 0.85;

  /** The largest part of what is left to a rule, so that other instances find some. */
  private static final double OF_LEFT = 1 / 8.0;

  /** The part of the count that is left to calls which the store decides one by one. */
  private static final double RESERVE = 0.01;

  /** The same under a log, which frees all units of a lease at once: they would be leased again. */
  private static final double RESERVE_OF_LOG = 0.02;

  /** How many subjects may be hot at once, at most; the store decides the calls of others. */
  private static final int SUBJECTS = 8_192;

  /** The most limit keys whose units are counted each. */
  private static final int LIMITS = 1_000;

  /** The most leases of quiet subjects that one reading of the units ends. */
  private static final int QUIET = 256;

  /** The longest time for which the end waits for what the store is asked. */
  private static final long END_NANOS = Duration.ofSeconds(1).toNanos();

  /** The most units of a lease under a log, which writes 8 bytes for each of them. */
  private static final int LOGGED_UNITS = 4_096;

  private final LongSupplier nanos;
  private final AtomicReferenceArray<@Nullable HotSubject> subjects =
      new AtomicReferenceArray<>(SUBJECTS);
  private final Map<String, LeaseUnits.Counts> counts = new ConcurrentHashMap<>();

  /** Leases that the store is asked for, and units that go back to it. */
  private final Set<CompletableFuture<?>> underWay = ConcurrentHashMap.newKeySet();

  /**
   * @param store decides and grants
   */
  public LeaseStore(LimitStore store) {
    this(store, System::nanoTime);
  }

  /**
   * @param nanos a monotonic clock in nanoseconds
   */
  public LeaseStore(LimitStore store, LongSupplier nanos) {
    super(store);
    this.nanos = nanos;
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    if (mode != Mode.ACQUIRE || !isLeased(request)) {
      return store.decide(request, mode);
    }
    SpentUnits spent = spend(request);
    if (spent == null) {
      return decideExactly(request);
    }
    return spent.isAll()
        ? CompletableFuture.completedFuture(Verdict.leased(request.policy(), spent, spent))
        : decideRest(spent);
  }

  /** Spends units of all leased charges; null if one of them has not enough. */
  private @Nullable SpentUnits spend(LimitRequest request) {
    SpentUnits spent = new SpentUnits(request, store);
    for (int c = 0; c < request.charges().size(); c++) {
      Charge charge = request.charge(c);
      if (isLeased(charge)) {
        HotSubject subject = find(charge);
        if (subject == null || !subject.spend(request.policy(), charge, spent, c)) {
          var unused = spent.refund();
          return null;
        }
      }
    }
    return spent;
  }

  private static boolean isLeased(LimitRequest request) {
    for (int c = 0; c < request.charges().size(); c++) {
      if (isLeased(request.charge(c))) {
        return true;
      }
    }
    return false;
  }

  private static boolean isLeased(Charge charge) {
    return !charge.stack().lease().isZero() && !charge.observed();
  }

  private CompletionStage<Verdict> decideRest(SpentUnits spent) {
    return store
        .decide(spent.rest(), Mode.ACQUIRE)
        .whenComplete(
            (verdict, failure) -> {
              if (failure != null) {
                var unused = spent.refund();
              }
            })
        .thenApply(spent::and);
  }

  /** Lets the store decide, and asks it for units of the subjects that are hot. */
  private CompletionStage<Verdict> decideExactly(LimitRequest request) {
    CompletionStage<Verdict> decided = store.decide(request, Mode.ACQUIRE);
    int rule = 0;
    for (int c = 0; c < request.charges().size(); c++) {
      Charge charge = request.charge(c);
      HotSubject subject = isLeased(charge) ? find(charge) : null;
      int first = rule;
      rule += charge.stack().rules().size();
      int end = rule;
      if (subject != null && subject.counts(charge)) {
        decided =
            decided.whenComplete(
                (verdict, failure) -> {
                  if (failure == null
                      && verdict.allowed()
                      && verdict.decidedBy() == DecidedBy.STORE
                      && end <= verdict.rules().size()) {
                    subject.askFirst(request.policy(), charge, verdict.rules().subList(first, end));
                  }
                });
      }
    }
    return decided.thenApply(verdict -> verdict.allowed() ? verdict : spendAfter(verdict, request));
  }

  /**
   * The store may have denied a call because this instance has just been granted what was left, or
   * may be away by now: then the call spends what was granted. A ban has counted the denial, so it
   * remains.
   */
  private Verdict spendAfter(Verdict denied, LimitRequest request) {
    boolean spendable =
        request.duplicate().isEmpty()
            && request.charges().stream()
                .allMatch(charge -> isLeased(charge) && charge.stack().ban().isEmpty());
    SpentUnits spent = spendable ? spend(request) : null;
    return spent == null ? denied : Verdict.leased(request.policy(), spent, spent);
  }

  /** The subject of a charge; null while its place is taken by another one that is hot. */
  private @Nullable HotSubject find(Charge charge) {
    int place = place(charge.key());
    HotSubject known = subjects.get(place);
    if (known != null && known.isOf(charge)) {
      return known;
    }
    if (known != null && !known.isIdle(nanos.getAsLong())) {
      return null;
    }
    HotSubject found = new HotSubject(charge);
    if (!subjects.compareAndSet(place, known, found)) {
      return null;
    }
    if (known != null) {
      known.end(this::retire);
    }
    return found;
  }

  /** Subjects share a place only if the hashes of their keys do; keys are hashes themselves. */
  private static int place(StateKey key) {
    return key.hashCode() & SUBJECTS - 1;
  }

  /** Forgets the leases of this instance. A lease of another one may be spent to its end. */
  @Override
  public CompletionStage<Void> reset(Collection<StateKey> keys) {
    keys.forEach(this::forget);
    return store.reset(keys).whenComplete((done, failure) -> keys.forEach(this::forget));
  }

  private void forget(StateKey key) {
    HotSubject known = subjects.get(place(key));
    if (known != null && known.key.equals(key) && subjects.compareAndSet(place(key), known, null)) {
      known.end(Lease::close); // the store has forgotten its units
    }
  }

  /**
   * The units of leases by their limit key; those of too many keys together as {@code other}. Ends
   * leases whose time is over: a subject without calls does not.
   */
  public Map<String, LeaseUnits> units() {
    long nowNanos = nanos.getAsLong();
    int most = QUIET;
    for (int place = 0; place < SUBJECTS && most > 0; place++) {
      HotSubject known = subjects.get(place);
      if (known != null && known.endsLease(nowNanos)) {
        most--;
      }
    }
    Map<String, LeaseUnits> units = new TreeMap<>();
    counts.forEach((limit, count) -> units.put(limit, count.now()));
    return units;
  }

  private LeaseUnits.Counts countsOf(String limit) {
    LeaseUnits.Counts known = counts.get(limit);
    return known != null
        ? known
        : counts.computeIfAbsent(
            counts.size() < LIMITS ? limit : "other", any -> new LeaseUnits.Counts());
  }

  private void retire(Lease lease) {
    follow(lease.retire());
  }

  /** Lets the end of this store wait for a stage. */
  @SuppressWarnings("CollectionUndefinedEquality") // a future equals itself alone, as is meant
  private void follow(CompletionStage<?> stage) {
    CompletableFuture<?> end = stage.toCompletableFuture();
    if (!end.isDone()) {
      underWay.add(end);
      var unused = end.whenComplete((done, failure) -> underWay.remove(end));
    }
  }

  /**
   * Gives back what is left of all leases, so that a deployment does not lose it, and of those that
   * are granted meanwhile. Waits until the store has answered, for a second at most.
   */
  @Override
  public void close() {
    for (int place = 0; place < SUBJECTS; place++) {
      HotSubject known = subjects.getAndSet(place, null);
      if (known != null) {
        known.end(this::retire);
      }
    }
    try (store) {
      awaitAnswers();
    }
  }

  private void awaitAnswers() {
    long dueNanos = System.nanoTime() + END_NANOS;
    while (!underWay.isEmpty()) { // a grant is followed by what it gives back
      try {
        CompletableFuture.allOf(underWay.toArray(CompletableFuture[]::new))
            .get(Math.max(0, dueNanos - System.nanoTime()), TimeUnit.NANOSECONDS);
      } catch (ExecutionException | CancellationException failed) {
        // As if it were answered: its units count to the end of their window.
      } catch (TimeoutException late) {
        return;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }

  /** One subject with its lease, and how many calls it has without one. Thread-safe. */
  private final class HotSubject {

    private final StateKey key;
    private final RuleStack stack;
    private final long leaseNanos;
    private final AtomicReference<@Nullable Lease> lease = new AtomicReference<>();
    private final AtomicBoolean asking = new AtomicBoolean();

    /** The cost of the calls that the store has decided since some time. */
    private final AtomicLong units = new AtomicLong();

    private volatile long sinceNanos;

    /** How long the store took to grant the last lease. */
    private volatile long tookNanos;

    /** No lease is asked for before, since the store has granted none. */
    private volatile long notBeforeNanos;

    /** What is done with a lease that is granted after the subject was forgotten; else null. */
    private volatile @Nullable Consumer<Lease> ending;

    HotSubject(Charge charge) {
      this.key = charge.key();
      this.stack = charge.stack();
      this.leaseNanos = stack.lease().toNanos();
      this.sinceNanos = nanos.getAsLong();
      this.notBeforeNanos = sinceNanos;
    }

    boolean isOf(Charge charge) {
      return key.equals(charge.key()) && stack.equals(charge.stack());
    }

    boolean isIdle(long nowNanos) {
      return nowNanos - sinceNanos > 2 * leaseNanos; // longer than it counts and spends
    }

    /** Spends units of a lease, and asks for the next one if this one is ending. */
    boolean spend(Policy policy, Charge charge, SpentUnits spent, int index) {
      Lease current = lease.get();
      while (current != null) {
        if (current.spend(charge.cost(), spent, index)) {
          long nowNanos = spent.spentNanos();
          long left = spent.left(index);
          if (current.isEnding(nowNanos, left, tookNanos) && current.next == null) {
            double rate = current.rate(nowNanos);
            ask(policy, charge, current.granted(), rate, current.timeNanos());
          }
          return true;
        }
        Lease next = current.next;
        long nowNanos = nanos.getAsLong();
        if (next == null && !current.isOver(nowNanos)) {
          return false; // the call costs more than is left
        }
        if (passes(current, next, nowNanos)) {
          staysHot(current.rate(nowNanos), nowNanos);
          retire(current);
        }
        current = lease.get();
      }
      return false;
    }

    /** Replaces the present lease, which is over, by the next one. */
    private boolean passes(Lease current, @Nullable Lease next, long nowNanos) {
      if (!lease.compareAndSet(current, next)) {
        return false;
      }
      if (next != null) {
        next.begin(nowNanos);
      }
      Lease late = next == null ? current.next : null; // it was added just now
      if (late != null && !lease.compareAndSet(null, late) && lease.get() != late) {
        retire(late); // another one was granted in between
      }
      return true;
    }

    /** Ends a lease whose time is over. Returns whether there was one. */
    boolean endsLease(long nowNanos) {
      Lease current = lease.get();
      if (current == null
          || !current.isOver(nowNanos)
          || !passes(current, current.next, nowNanos)) {
        return false;
      }
      retire(current);
      return true;
    }

    /** A subject that was hot until now need not be counted from the beginning. */
    private void staysHot(double rate, long nowNanos) {
      sinceNanos = nowNanos;
      units.set((long) (rate * (double) leaseNanos / 2));
    }

    /** Counts a call that the store decides. Returns whether the subject is hot. */
    boolean counts(Charge charge) {
      long nowNanos = nanos.getAsLong();
      if (nowNanos - sinceNanos > leaseNanos) {
        sinceNanos = nowNanos;
        units.set(0);
      }
      return units.addAndGet(charge.cost()) >= HOT_UNITS;
    }

    /**
     * Asks for a lease after calls without one, unless one was granted while the store decided
     * them.
     *
     * @param rules the verdicts of its rules on the last of them
     */
    void askFirst(Policy policy, Charge charge, List<RuleVerdict> rules) {
      Lease current = lease.get();
      if (current == null || !current.has(charge.cost())) {
        double rate = 2 * (double) units.get() / (double) leaseNanos;
        ask(policy, charge, rules, rate, leaseNanos);
      }
    }

    /**
     * Asks for a lease, once at a time.
     *
     * @param rules as of an earlier verdict
     * @param rate how many units are spent in a nanosecond. If it is low, the next call asks: the
     *     lease may only just have been reached
     * @param timeNanos how long the lease lasts, probably
     */
    private void ask(
        Policy policy, Charge charge, List<RuleVerdict> rules, double rate, long timeNanos) {
      double demand = OF_DEMAND * rate * (double) timeNanos;
      if (demand < HOT_UNITS) {
        return;
      }
      long nowNanos = nanos.getAsLong();
      if (nowNanos - notBeforeNanos < 0 || !asking.compareAndSet(false, true)) {
        return;
      }
      Lease current = lease.get();
      if (current != null && current.next != null) { // it was granted since the caller has looked
        asking.set(false);
        return;
      }
      boolean logged = stack.logs() > 0;
      double reserve = logged ? RESERVE_OF_LOG : RESERVE;
      double most = Math.min(demand, logged ? LOGGED_UNITS : Charge.MAX_COST);
      for (RuleVerdict rule : rules) {
        double left = rule.remaining();
        double free = left - reserve * (double) rule.rule().capacity();
        most = Math.min(most, Math.min(OF_LEFT * left, free));
      }
      int wanted = (int) most;
      if (wanted < HOT_UNITS) {
        ended(nowNanos);
        return;
      }
      LimitRequest request =
          new LimitRequest(policy, List.of(charge.withCost(wanted)), Optional.empty());
      CompletionStage<Grant> asked;
      try {
        asked = store.lease(request, stack.lease());
      } catch (Throwable failed) { // of a custom store; its decisions report the failure
        ended(nowNanos);
        return;
      }
      follow(
          asked.whenComplete(
              (grant, failure) -> {
                if (failure == null && grant.isGranted()) {
                  tookNanos = nanos.getAsLong() - nowNanos;
                  add(new Lease(grant, wanted, countsOf(charge.limit()), rate, nowNanos, nanos));
                  asking.set(false);
                } else {
                  ended(nanos.getAsLong());
                }
              }));
    }

    /** There is no lease for now. */
    private void ended(long nowNanos) {
      notBeforeNanos = nowNanos + leaseNanos;
      asking.set(false);
    }

    /**
     * Adds a lease behind the present one, which has no next one: only one is asked for at once.
     */
    private void add(Lease granted) {
      Lease current = lease.get();
      while (current != granted) {
        if (current == null) {
          lease.compareAndSet(null, granted);
        } else {
          current.next = granted;
          if (lease.get() == current) {
            break; // the thread that ends it finds the next one
          }
        }
        current = lease.get();
      }
      Consumer<Lease> action = ending;
      if (action != null) {
        end(action);
      }
    }

    /** Ends its leases, and one that is granted later. */
    void end(Consumer<Lease> action) {
      ending = action;
      for (Lease some = lease.getAndSet(null); some != null; some = some.next) {
        action.accept(some);
      }
    }
  }
}
