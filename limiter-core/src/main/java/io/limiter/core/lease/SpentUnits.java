// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.lease;

import io.limiter.core.Charge;
import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Reservation;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.core.store.AtMostOnceReservation;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * What one call has spent of leases: its verdict on those charges, and the reservation that gives
 * the units back.
 */
final class SpentUnits extends AtMostOnceReservation implements Verdict.LazyRules {

  private final LimitStore store;

  /** The lease of each charge; null if it has none, so that the store decides it. */
  private final @Nullable Lease[] leases;

  /** The units of each lease that were left after the call. */
  private final long[] left;

  private int count;
  private long spentNanos;

  SpentUnits(LimitRequest request, LimitStore store) {
    super(request);
    this.store = store;
    int size = request.charges().size();
    this.leases = new @Nullable Lease[size];
    this.left = new long[size];
  }

  /** Notes what {@link Lease#spend} has spent. */
  void note(int charge, Lease lease, long unitsLeft, long nowNanos) {
    leases[charge] = lease;
    left[charge] = unitsLeft;
    spentNanos = nowNanos;
    count++;
  }

  long left(int charge) {
    return left[charge];
  }

  long spentNanos() {
    return spentNanos;
  }

  /** Whether no charge is left for the store. */
  boolean isAll() {
    return count == leases.length && request().duplicate().isEmpty();
  }

  /** The request of the charges that have no lease, and of the duplicate guard. */
  LimitRequest rest() {
    List<Charge> charges = new ArrayList<>();
    for (int c = 0; c < leases.length; c++) {
      if (leases[c] == null) {
        charges.add(request().charge(c));
      }
    }
    return new LimitRequest(request().policy(), charges, request().duplicate());
  }

  /** The verdict on the whole call; if the store denies the rest, the units go back. */
  Verdict and(Verdict rest) {
    boolean allowed = rest.allowed();
    if (!allowed) {
      var unused = refund();
    }
    return rest.withRules(
        new WithRest(this, rest),
        allowed ? new Both(this, rest.reservation()) : Reservation.NOTHING);
  }

  @Override
  protected boolean took(int charge) {
    return leases[charge] != null;
  }

  @Override
  protected CompletionStage<Long> giveBack(int from, int to, ToIntFunction<Charge> units) {
    CompletionStage<Long> given = done(0);
    for (int c = from; c < Math.min(to, leases.length); c++) {
      Lease lease = leases[c];
      int some = lease == null ? 0 : units.applyAsInt(request().charge(c));
      if (lease != null && some > 0) {
        given = given.thenCombine(lease.giveBack(some), Long::sum);
      }
    }
    return given;
  }

  /** No permit is ever leased. */
  @Override
  protected CompletionStage<Long> renew() {
    return done(0);
  }

  @Override
  protected CompletionStage<?> record(LimitRequest units) {
    return store.decide(units, Mode.RECORD);
  }

  @Override
  public List<RuleVerdict> rules() {
    List<RuleVerdict> rules = new ArrayList<>();
    for (int c = 0; c < leases.length; c++) {
      addTo(rules, c, true);
    }
    return List.copyOf(rules);
  }

  /** Adds the verdicts on a charge; returns false if it has no lease. */
  private boolean addTo(List<RuleVerdict> rules, int charge, boolean taken) {
    Lease lease = leases[charge];
    int cost = request().charge(charge).cost();
    return lease != null
        && rules.addAll(
            taken
                ? lease.rules(cost, left[charge], spentNanos)
                : lease.rules(0, left[charge] + cost, spentNanos));
  }

  @Override
  public Optional<RuleVerdict> duplicate() {
    return Optional.empty();
  }

  /** The verdicts of all rules of a call, of which the store has decided some. */
  private record WithRest(SpentUnits spent, Verdict rest) implements Verdict.LazyRules {

    @Override
    public List<RuleVerdict> rules() {
      List<RuleVerdict> rules = new ArrayList<>();
      List<Charge> charges = spent.request().charges();
      int next = 0;
      for (int c = 0; c < charges.size(); c++) {
        if (!spent.addTo(rules, c, rest.allowed())) {
          int end = Math.min(next + charges.get(c).stack().rules().size(), rest.rules().size());
          rules.addAll(rest.rules().subList(next, end));
          next = end;
        }
      }
      return List.copyOf(rules);
    }

    @Override
    public Optional<RuleVerdict> duplicate() {
      return rest.duplicate();
    }
  }

  /** The reservations of one call: of leases, and of the store. */
  private record Both(Reservation spent, Reservation rest) implements Reservation {

    @Override
    public CompletionStage<Long> refund() {
      return spent.refund().thenCombine(rest.refund(), Long::sum);
    }

    @Override
    public CompletionStage<Long> release() {
      return rest.release();
    }

    @Override
    public CompletionStage<Long> hold(Duration time, boolean ended) {
      return rest.hold(time, ended);
    }

    @Override
    public CompletionStage<Long> settle(Completion completion) {
      return spent.settle(completion).thenCombine(rest.settle(completion), Long::sum);
    }

    @Override
    public CompletionStage<Long> renewPermits() {
      return rest.renewPermits();
    }

    @Override
    public Optional<Duration> permitDuration() {
      return rest.permitDuration();
    }
  }
}
