// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import io.limiter.core.Charge;
import io.limiter.core.Completion;
import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.Reservation;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.LimitStore.KnownUse;
import io.limiter.core.store.Mode;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * What this instance knows about subjects: the store's last verdict on each, which includes the use
 * by all instances; the calls on their way to the store; and what the fallback has admitted since.
 * The fallback continues from it, and the store receives the units that it missed.
 *
 * <p>Bounded: while {@code size} keys are known, no further ones are added, and for those the
 * fallback starts with nothing used. A key is known as long as any of its rules requires.
 */
final class KnownSubjectTable {

  /** How often a full table is searched for expired keys. */
  private static final long SWEEP_NANOS = Duration.ofMillis(100).toNanos();

  private final int size;
  private final LongSupplier nanos;
  private final Map<StateKey, KnownSubject> subjects = new ConcurrentHashMap<>();
  private final AtomicInteger owing = new AtomicInteger();
  private final AtomicLong swept;
  private final String instance;
  private final AtomicLong ids = new AtomicLong();

  /**
   * @param size the most keys
   * @param nanos a monotonic clock in nanoseconds
   */
  KnownSubjectTable(int size, LongSupplier nanos) {
    this.size = size;
    this.nanos = nanos;
    this.swept = new AtomicLong(nanos.getAsLong() - SWEEP_NANOS);
    byte[] random =
        ByteBuffer.allocate(2 * Long.BYTES)
            .putLong(ThreadLocalRandom.current().nextLong())
            .putLong(ThreadLocalRandom.current().nextLong())
            .array();
    this.instance = Base64.getUrlEncoder().withoutPadding().encodeToString(random).substring(0, 16);
  }

  /**
   * The knowledge about the subjects of one call, one for each charge; null where there is no room.
   */
  @Nullable KnownSubject[] of(LimitRequest request) {
    @Nullable KnownSubject[] known = new KnownSubject[request.size()];
    for (int c = 0; c < known.length; c++) {
      Charge charge = request.charge(c);
      known[c] = charge.stack().permitDuration().isPresent() ? null : of(charge.key());
    }
    return known;
  }

  private @Nullable KnownSubject of(StateKey key) {
    KnownSubject known = subjects.get(key);
    if (known != null) {
      return known;
    }
    return hasRoom() ? subjects.computeIfAbsent(key, unknown -> new KnownSubject()) : null;
  }

  private boolean hasRoom() {
    if (subjects.size() < size) {
      return true;
    }
    long nowNanos = nanos.getAsLong();
    long last = swept.get();
    if (nowNanos - last >= SWEEP_NANOS && swept.compareAndSet(last, nowNanos)) {
      subjects.values().removeIf(known -> known.forgetIfExpired(nowNanos, this));
    }
    return subjects.size() < size;
  }

  /** Changes the number of subjects with unreported units. */
  void owe(int more) {
    owing.addAndGet(more);
  }

  /** Returns a unique id for a group of past units. */
  String nextId() {
    return instance + Long.toString(ids.incrementAndGet(), Character.MAX_RADIX);
  }

  /** Returns the call with the unreported units of its subjects. */
  LimitRequest withPast(LimitRequest request, @Nullable KnownSubject[] known, long nowNanos) {
    if (owing.get() == 0) {
      return request;
    }
    List<PastCharge> past = new ArrayList<>();
    for (int c = 0; c < known.length; c++) {
      KnownSubject subject = known[c];
      if (subject != null) {
        subject.addPast(past, nowNanos, this);
      }
    }
    return past.isEmpty() ? request : request.after(past);
  }

  /** The call has been sent: until the reply arrives, its units may be in use. */
  void sent(LimitRequest request, @Nullable KnownSubject[] known) {
    for (int c = 0; c < known.length; c++) {
      KnownSubject subject = known[c];
      if (subject != null) {
        subject.sent(request.charge(c).cost());
      }
    }
  }

  /** The call was not answered in time, or not sent. */
  void unanswered(LimitRequest request, @Nullable KnownSubject[] known) {
    for (int c = 0; c < known.length; c++) {
      KnownSubject subject = known[c];
      if (subject != null) {
        subject.answered(request.charge(c).cost());
      }
    }
  }

  /**
   * The store has decided.
   *
   * @param brought the request with its past units, which the store has recorded now
   * @param verdict its verdict; nothing is learnt from one that another store has decided, or none
   * @param askedNanos when the store was asked
   * @param late whether the call was decided elsewhere long ago
   */
  void learn(
      LimitRequest brought,
      @Nullable KnownSubject[] known,
      @Nullable Verdict verdict,
      Mode mode,
      long askedNanos,
      boolean late) {
    if (known.length == 0) {
      return; // without a look at the rules, which a verdict may not have computed yet
    }
    if (verdict == null || verdict.decidedBy() != DecidedBy.STORE) {
      if (!late) {
        unanswered(brought, known);
      }
      return;
    }
    long nowNanos = nanos.getAsLong();
    int rule = 0;
    int ruleVerdicts = verdict.rules().size();
    boolean took = verdict.allowed() && mode != Mode.PEEK;
    for (int c = 0; c < known.length; c++) {
      Charge charge = brought.charge(c);
      KnownSubject subject = known[c];
      boolean guard = c == brought.charges().size();
      int rules = charge.stack().rules().size();
      if (subject != null) {
        if (!late) {
          subject.answered(charge.cost());
        }
        if (!brought.past().isEmpty()) {
          subject.heard(brought.past(), this);
        }
        if (guard ? verdict.duplicate().isPresent() : rule + rules <= ruleVerdicts) {
          subject.learn(
              charge, verdict, guard ? -1 : rule, c == 0, took, askedNanos, nowNanos, this);
        }
      }
      rule += rules; // the guard is the last
    }
  }

  /**
   * Lets the fallback decide, starting from what is known.
   *
   * @param decide the decision of the store that adopts it; completes at once
   */
  <T> T decide(
      LimitRequest request, @Nullable KnownSubject[] known, LimitStore local, Supplier<T> decide) {
    List<Locked> locked = new ArrayList<>(known.length);
    for (int c = 0; c < known.length; c++) {
      KnownSubject subject = known[c];
      if (subject != null) {
        locked.add(new Locked(request.charge(c), subject));
      }
    }
    locked.sort(
        Comparator.<Locked, String>comparing(one -> one.charge().key().tag())
            .thenComparing(one -> one.charge().key().name()));
    return under(locked, 0, () -> adopted(locked, local, decide));
  }

  private record Locked(Charge charge, KnownSubject subject) {}

  /** Locks all of them, always in one order. */
  private static <T> T under(List<Locked> locked, int from, Supplier<T> action) {
    if (from == locked.size()) {
      return action.get();
    }
    synchronized (locked.get(from).subject()) {
      return under(locked, from + 1, action);
    }
  }

  private <T> T adopted(List<Locked> locked, LimitStore local, Supplier<T> decide) {
    long nowNanos = nanos.getAsLong();
    for (Locked one : locked) {
      KnownUse use = one.subject().useIfNews(one.charge(), nowNanos);
      if (use != null) {
        local.adopt(one.charge(), use);
      }
    }
    return decide.get();
  }

  /**
   * The fallback has admitted a call, whose units are not yet reported; the subjects are locked.
   */
  UnreportedReservation admitted(
      LimitRequest request, @Nullable KnownSubject[] known, Verdict verdict, long nowNanos) {
    KnownSubject.@Nullable Pending[] pending = new KnownSubject.@Nullable Pending[known.length];
    int rule = 0;
    for (int c = 0; c < known.length; c++) {
      KnownSubject subject = known[c];
      Charge charge = request.charge(c);
      long used = 0;
      if (c < request.charges().size()) {
        for (int r = 0; r < charge.stack().rules().size(); r++) {
          used = Math.max(used, used(verdict.rules().get(rule++)));
        }
      } else {
        used = used(verdict.duplicate().orElseThrow());
      }
      if (subject != null) {
        pending[c] = subject.admitted(charge, used, nowNanos, this);
      }
    }
    return new UnreportedReservation(request, known, pending, verdict.reservation());
  }

  private static long used(RuleVerdict rule) {
    return rule.rule().capacity() - rule.remaining();
  }

  /** Discards the knowledge about these keys. */
  void forget(Collection<StateKey> keys) {
    for (StateKey key : keys) {
      KnownSubject known = subjects.remove(key);
      if (known != null) {
        known.forget(this);
      }
    }
  }

  /** Discards what is known about bans under these keys. */
  void liftBans(Collection<StateKey> keys) {
    for (StateKey key : keys) {
      KnownSubject known = subjects.get(key);
      if (known != null) {
        known.liftBan();
      }
    }
  }

  /**
   * The reservation of a call that the fallback has admitted: gives units back to the local store,
   * and those need not be reported to the store, as far as they are not reported yet.
   */
  final class UnreportedReservation implements Reservation {

    private final LimitRequest request;
    private final @Nullable KnownSubject[] subjects;
    private final KnownSubject.@Nullable Pending[] pending;
    private final Reservation reservation;

    /** The index of the duplicate guard: behind the charges of the rules. */
    private final int guard;

    /** Of each charge. Guarded by this object, like the next field. */
    private final int[] unreported;

    private boolean ended;

    UnreportedReservation(
        LimitRequest request,
        @Nullable KnownSubject[] subjects,
        KnownSubject.@Nullable Pending[] pending,
        Reservation reservation) {
      this.request = request;
      this.subjects = subjects;
      this.pending = pending;
      this.reservation = reservation;
      this.guard = request.charges().size();
      this.unreported = request.allCharges().stream().mapToInt(Charge::cost).toArray();
    }

    /** The store has taken the units of this call after all. */
    synchronized void takenByTheStore() {
      forget(0, pending.length, Charge::cost);
    }

    @Override
    public CompletionStage<Long> refund() {
      end(Charge::cost);
      forgetGuard();
      return reservation.refund();
    }

    @Override
    public CompletionStage<Long> release() {
      forgetGuard();
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
      end(costed::returned);
      return reservation.settle(costed);
    }

    private synchronized void end(ToIntFunction<Charge> returned) {
      if (!ended) {
        ended = true;
        forget(0, guard, returned);
      }
    }

    private synchronized void forgetGuard() {
      forget(guard, pending.length, Charge::cost);
    }

    /** Forgets units of some charges, as far as they are left. */
    private void forget(int from, int to, ToIntFunction<Charge> units) {
      for (int c = from; c < to; c++) {
        KnownSubject subject = subjects[c];
        KnownSubject.Pending taken = pending[c];
        int some = Math.min(unreported[c], units.applyAsInt(request.charge(c)));
        if (subject != null && taken != null && some > 0) {
          unreported[c] -= some;
          subject.giveBack(taken, some, KnownSubjectTable.this);
        }
      }
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
}
