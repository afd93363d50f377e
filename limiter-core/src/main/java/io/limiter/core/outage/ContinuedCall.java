// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.outage;

import io.limiter.core.Charge;
import io.limiter.core.Completion;
import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.LimitStore;
import io.limiter.core.LimitStore.SeenUse;
import io.limiter.core.Reservation;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.core.outage.LastSeen.Admitted;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * One call that is sent to the store, and what this instance knows about its subjects: one entry
 * for each charge, null where the table had no room.
 */
final class ContinuedCall {

  private final LimitRequest request;
  private final @Nullable LastSeen[] subjects;
  private final LongSupplier nanos;
  private final long askedNanos;
  private final LimitRequest asked;

  /**
   * Records at once that the call is under way, so that later decisions of the fallback include it.
   */
  ContinuedCall(LimitRequest request, @Nullable LastSeen[] subjects, LongSupplier nanos) {
    this.request = request;
    this.subjects = subjects;
    this.nanos = nanos;
    this.askedNanos = nanos.getAsLong();
    boolean reports = false;
    for (int c = 0; c < subjects.length; c++) {
      LastSeen subject = subjects[c];
      reports |= subject != null && subject.sent(request.charge(c).cost());
    }
    this.asked = reports ? withReports() : request;
  }

  private LimitRequest withReports() {
    List<PastCharge> past = new ArrayList<>();
    each((subject, charge) -> subject.report(askedNanos).ifPresent(past::add));
    return past.isEmpty() ? request : request.after(past);
  }

  /** Does something with the subjects that are known, and what the call takes from each. */
  private void each(BiConsumer<LastSeen, Charge> action) {
    for (int c = 0; c < subjects.length; c++) {
      LastSeen subject = subjects[c];
      if (subject != null) {
        action.accept(subject, request.charge(c));
      }
    }
  }

  LimitRequest request() {
    return request;
  }

  /** The request with the units that its subjects have to report. */
  LimitRequest asked() {
    return asked;
  }

  long askedNanos() {
    return askedNanos;
  }

  /** The store has answered in time. */
  void answered(@Nullable Verdict verdict) {
    eachReported((past, subject) -> subject.reported());
    learn(verdict);
    each((subject, charge) -> subject.answered(charge.cost()));
  }

  /** The call was not answered in time, or not sent. What the store did not take is kept. */
  void unanswered() {
    each((subject, charge) -> subject.answered(charge.cost()));
    eachReported(
        (past, subject) -> {
          subject.reported();
          if (past.markSent()) {
            past.refused();
          }
        });
  }

  private void eachReported(BiConsumer<PastCharge, LastSeen> action) {
    for (PastCharge past : asked.past()) {
      each(
          (subject, charge) -> {
            if (charge.key().equals(past.charge().key())) {
              action.accept(past, subject);
            }
          });
    }
  }

  /** Learns from a verdict, unless another store or none decided it. */
  void learn(@Nullable Verdict verdict) {
    if (subjects.length == 0 || verdict == null || verdict.decidedBy() != DecidedBy.STORE) {
      return; // without a look at the rules, which a verdict may not have computed yet
    }
    long nowNanos = nanos.getAsLong();
    int rule = 0;
    for (int c = 0; c < subjects.length; c++) {
      Charge charge = request.charge(c);
      LastSeen subject = subjects[c];
      boolean guard = c == request.charges().size();
      int next = rule + charge.stack().rules().size();
      if (subject != null) {
        subject.included(askedNanos);
        if (guard ? verdict.duplicate().isPresent() : next <= verdict.rules().size()) {
          // The others may be decided by other nodes, at other times.
          long decidedMicros = c == 0 ? verdict.decidedAtMicros() : 0;
          subject.learn(charge, verdict, guard ? -1 : rule, decidedMicros, askedNanos, nowNanos);
        }
      }
      rule = next; // the guard is the last
    }
  }

  /** A verdict of the store by which this instance also learns how long a claimed guard is held. */
  Verdict withHeldGuard(Verdict verdict) {
    int guard = request.charges().size();
    LastSeen subject = guard < subjects.length ? subjects[guard] : null;
    return subject == null
            || request.charge(guard).stack().claim().isZero()
            || !verdict.allowed()
            || verdict.reservation() == Reservation.NOTHING
        ? verdict
        : verdict.withReservation(
            new HeldGuard(
                verdict.reservation(), subject, request.charge(guard).stack().claim(), nanos));
  }

  /**
   * Lets the fallback decide, starting from what is known.
   *
   * @param decide the decision of the store that adopts it; completes at once
   */
  <T> T decide(LimitStore local, Supplier<T> decide) {
    NavigableMap<Charge, LastSeen> known =
        new TreeMap<>(
            Comparator.<Charge, String>comparing(charge -> charge.key().tag())
                .thenComparing(charge -> charge.key().name()));
    each((subject, charge) -> known.put(charge, subject));
    return adopted(known, local, decide);
  }

  /** Locks all subjects, always in one order, and lets the local store adopt what is known. */
  private <T> T adopted(
      NavigableMap<Charge, LastSeen> known, LimitStore local, Supplier<T> decide) {
    Map.Entry<Charge, LastSeen> first = known.pollFirstEntry();
    if (first == null) {
      return decide.get();
    }
    synchronized (first.getValue()) {
      SeenUse use = first.getValue().useIfNews(first.getKey(), nanos.getAsLong());
      if (use != null) {
        local.adopt(first.getKey(), use);
      }
      return adopted(known, local, decide);
    }
  }

  /**
   * The fallback has admitted the call, whose units are not yet reported; the subjects are locked.
   */
  UnreportedReservation admitted(Verdict verdict) {
    long nowNanos = nanos.getAsLong();
    @Nullable Admitted[] groups = new @Nullable Admitted[subjects.length];
    int rule = 0;
    for (int c = 0; c < subjects.length; c++) {
      LastSeen subject = subjects[c];
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
        groups[c] = subject.admitted(charge, used, nowNanos);
      }
    }
    return new UnreportedReservation(request, groups, verdict.reservation(), nanos);
  }

  private static long used(RuleVerdict rule) {
    return rule.rule().capacity() - rule.remaining();
  }

  /**
   * The reservation of a call whose guard the store has taken for its claim. A method may outlast
   * the time of its guard, so the first verdict does not state how long the guard is held.
   */
  private static final class HeldGuard implements Reservation {

    private final Reservation taken;
    private final LastSeen guard;
    private final Duration claim;
    private final LongSupplier nanos;

    /** It is to be released: a renewal that fails only now does not hold it. */
    private volatile boolean over;

    HeldGuard(Reservation taken, LastSeen guard, Duration claim, LongSupplier nanos) {
      this.taken = taken;
      this.guard = guard;
      this.claim = claim;
      this.nanos = nanos;
    }

    @Override
    public CompletionStage<Long> refund() {
      return taken.refund();
    }

    /** If it cannot be written, the guard is free after its claim. */
    @Override
    public CompletionStage<Long> release() {
      over = true;
      return taken
          .release()
          .whenComplete(
              (units, failure) -> {
                if (failure != null) {
                  guard.heldAtMost(claim, nanos.getAsLong());
                } else if (units > 0) {
                  guard.held(Duration.ZERO, true, nanos.getAsLong());
                }
              });
    }

    /** The method runs here, so the guard is held here, also while the store does not answer. */
    @Override
    public CompletionStage<Long> hold(Duration time, boolean ended) {
      guard.sent(1);
      return CompletableFuture.completedFuture(time)
          .thenCompose(some -> taken.hold(some, ended)) // it may be the application's, and throw
          .whenComplete(
              (units, failure) -> {
                guard.answered(1);
                if (!over && (failure != null || units > 0)) {
                  guard.held(time, ended && failure == null, nanos.getAsLong());
                }
              });
    }

    @Override
    public CompletionStage<Long> settle(Completion completion) {
      return taken.settle(completion);
    }

    @Override
    public CompletionStage<Long> renewPermits() {
      return taken.renewPermits();
    }

    @Override
    public Optional<Duration> permitDuration() {
      return taken.permitDuration();
    }
  }

  /**
   * The reservation of a call that the fallback has admitted: gives units back to the local store.
   * Those that are not reported yet need not be reported to the store any more.
   */
  static final class UnreportedReservation implements Reservation {

    private static final Function<Reservation, CompletionStage<Long>> RELEASE =
        Reservation::release;

    private final LimitRequest request;
    private final @Nullable Admitted[] groups;
    private final Reservation reservation;
    private final LongSupplier nanos;

    /** The index of the duplicate guard: after the charges of the rules. */
    private final int guard;

    /** For each charge, the units that were not given back. Guarded by this object. */
    private final int[] left;

    /** Settled or refunded. Guarded by this object. */
    private boolean ended;

    /** Of the store, if it has taken the units after all. Guarded by this object. */
    private @Nullable Reservation late;

    /** How the guard was held last, or its release. Guarded by this object. */
    private Function<Reservation, CompletionStage<Long>> last =
        guard -> CompletableFuture.completedFuture(0L);

    UnreportedReservation(
        LimitRequest request,
        @Nullable Admitted[] groups,
        Reservation reservation,
        LongSupplier nanos) {
      this.request = request;
      this.groups = groups;
      this.reservation = reservation;
      this.nanos = nanos;
      this.guard = request.charges().size();
      this.left = request.allCharges().stream().mapToInt(Charge::cost).toArray();
    }

    /**
     * The store has taken the units of this call after all. There a guard ends with its claim,
     * unless it is held; what has come of it in the meantime is made up for. A failure is repeated
     * once, since the caller, for which memory has done it, does not repeat it.
     */
    void takenByTheStore(Reservation taken) {
      giveBack(0, groups.length, Charge::cost);
      Function<Reservation, CompletionStage<Long>> done;
      synchronized (this) {
        late = taken;
        done = last;
      }
      var unused = done.apply(taken).exceptionallyCompose(failure -> done.apply(taken));
    }

    @Override
    public CompletionStage<Long> refund() {
      end(Charge::cost);
      giveBack(guard, groups.length, Charge::cost);
      return reservation.refund();
    }

    @Override
    public CompletionStage<Long> release() {
      heldHere(Duration.ZERO, true);
      giveBack(guard, groups.length, Charge::cost);
      return alsoInStore(RELEASE);
    }

    /** Memory may adopt the guard with another stamp, and then does not hold it by itself. */
    private void heldHere(Duration time, boolean ended) {
      Admitted group = groups.length == guard ? null : groups[guard];
      if (group != null && !request.charge(guard).stack().claim().isZero()) {
        group.hold(time, ended, nanos.getAsLong());
      }
    }

    @Override
    public CompletionStage<Long> hold(Duration time, boolean ended) {
      heldHere(time, ended);
      long untilNanos = System.nanoTime() + time.toNanos();
      CompletionStage<Long> units =
          alsoInStore(guard -> guard.hold(Duration.ofNanos(untilNanos - System.nanoTime()), ended));
      synchronized (this) { // what is here may have another stamp, since it was adopted
        return late == null ? units.thenApply(some -> 1L) : units;
      }
    }

    /** Does something with the guard here, and with that of the store, which counts. */
    private CompletionStage<Long> alsoInStore(Function<Reservation, CompletionStage<Long>> action) {
      Reservation taken;
      synchronized (this) {
        last = last == RELEASE ? last : action;
        taken = late;
      }
      CompletionStage<Long> units = action.apply(reservation);
      return taken == null ? units : units.thenCompose(some -> action.apply(taken));
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
        giveBack(0, guard, returned);
      }
    }

    /** Gives back units of some charges, as far as they are left. */
    private synchronized void giveBack(int from, int to, ToIntFunction<Charge> units) {
      for (int c = from; c < to; c++) {
        Admitted group = groups[c];
        int some = Math.min(left[c], units.applyAsInt(request.charge(c)));
        left[c] -= some;
        if (group != null && some > 0) {
          group.giveBack(some);
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
