// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.lease;

import io.limiter.core.LimitStore.Grant;
import io.limiter.core.RuleVerdict;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Units of one subject that this instance holds. Spending them takes no lock. Times are nanoseconds
 * of a monotonic clock.
 */
final class Lease {

  /** What is left of a closed lease: so little that no call can spend it. */
  private static final long CLOSED = Long.MIN_VALUE / 2;

  /** Two clocks differ in rate: a lease ends earlier by 1 ms, and by this part of its time. */
  private static final double RATE_MARGIN = 0.001;

  private static final long MARGIN_NANOS = Duration.ofMillis(1).toNanos();

  /** The next lease is asked for when this part of the time or of the units is left, or earlier. */
  private static final int ENDING = 16;

  /** How many calls the expected rate counts for: fewer calls vary by chance. */
  private static final int EXPECTED_CALLS = 40;

  private final Grant grant;
  private final int units;
  private final LeaseUnits.Counts counts;
  private final double expectedRate;
  private final LongSupplier nanos;
  private final long askedNanos;
  private final long endNanos;
  private final AtomicLong left;

  /** Its units go back to the store, also those that a late call could not spend. */
  private volatile boolean retired;

  /** When the lease before this one ended; about then the first unit was spent. */
  private volatile long begunNanos;

  /** The lease that follows, if it was granted before this one has ended. */
  volatile @Nullable Lease next;

  /**
   * @param units how many were granted
   * @param counts to which its units are added: now, and when it ends
   * @param expectedRate how many are spent in a nanosecond, by earlier calls
   * @param askedNanos when the store was asked: the time begins no later here than in the store
   */
  Lease(
      Grant grant,
      int units,
      LeaseUnits.Counts counts,
      double expectedRate,
      long askedNanos,
      LongSupplier nanos) {
    this.grant = grant;
    this.units = units;
    this.counts = counts;
    counts.granted.add(units);
    this.expectedRate = expectedRate;
    this.nanos = nanos;
    this.askedNanos = askedNanos;
    this.begunNanos = askedNanos;
    double lasts = (double) grant.micros() * 1_000;
    this.endNanos = askedNanos + (long) (lasts - lasts * RATE_MARGIN) - MARGIN_NANOS;
    this.left = new AtomicLong(units);
  }

  /**
   * Spends units. The clock is read after they are taken, so that a thread that is paused in
   * between does not spend them late.
   *
   * @param spent notes what was spent for its charge
   * @return whether the units were spent
   */
  boolean spend(int cost, SpentUnits spent, int charge) {
    if (left.get() < cost) {
      return false;
    }
    long after = left.addAndGet(-cost);
    long nowNanos = nanos.getAsLong();
    if (after >= 0 && nowNanos - endNanos < 0) {
      spent.note(charge, this, after, nowNanos);
      return true;
    }
    if (isClosed(left.addAndGet(cost)) && after >= 0 && retired) {
      var unused = grant.giveBack().apply(cost); // retire() did not see these units
    }
    return false;
  }

  /**
   * Gives units of a call back to this lease, or to the store if the lease has ended: then they
   * count as spent.
   */
  CompletionStage<Long> giveBack(int some) {
    long known = left.get();
    while (known >= 0 && nanos.getAsLong() - endNanos < 0) {
      if (left.compareAndSet(known, known + some)) {
        return CompletableFuture.completedFuture((long) some);
      }
      known = left.get();
    }
    return grant.giveBack().apply(some);
  }

  /** Ends the lease, and gives back to the store what is left. */
  CompletionStage<?> retire() {
    retired = true;
    int unspent = end();
    return unspent == 0
        ? CompletableFuture.completedFuture(0L)
        : grant
            .giveBack()
            .apply(unspent)
            .whenComplete((back, failure) -> counts.unspent(unspent, failure == null ? back : 0));
  }

  /** Ends the lease, and gives back nothing. */
  void close() {
    counts.unspent(end(), 0);
  }

  /** Ends the lease, and counts what was spent. Returns what is left; zero if it has ended. */
  private int end() {
    long known = left.getAndSet(CLOSED);
    if (isClosed(known)) {
      return 0;
    }
    int unspent = (int) Math.max(0, known); // below zero while a call puts back what it took
    counts.spent.add(units - unspent);
    return unspent;
  }

  private static boolean isClosed(long left) {
    return left < CLOSED / 2;
  }

  /** Whether a call of this cost would spend it. */
  boolean has(int cost) {
    return left.get() >= cost && nanos.getAsLong() - endNanos < 0;
  }

  /** Whether nothing more can be spent. */
  boolean isOver(long nowNanos) {
    return nowNanos - endNanos >= 0 || left.get() <= 0;
  }

  /** Notes that the lease before this one has ended. */
  void begin(long nowNanos) {
    begunNanos = nowNanos;
  }

  /**
   * Whether it is time to ask for the next lease. Its time runs from then on, so the later it is
   * asked for, the longer it is spent.
   *
   * @param tookNanos how long the store took to grant this one
   */
  boolean isEnding(long nowNanos, long unitsLeft, long tookNanos) {
    long time = timeNanos();
    long early = Math.min(time / 4, Math.max(time / ENDING, 2 * tookNanos));
    return nowNanos - endNanos + early >= 0
        || (double) unitsLeft * (double) time <= (double) units * (double) early;
  }

  /** The time within which its units may be spent. */
  long timeNanos() {
    return endNanos - askedNanos;
  }

  /** How many units are spent in a nanosecond, from what was expected and what was spent. */
  double rate(long nowNanos) {
    double spent = (double) (units - Math.max(0, left.get())) + EXPECTED_CALLS;
    return spent / ((double) Math.max(0, nowNanos - begunNanos) + EXPECTED_CALLS / expectedRate);
  }

  /** The verdicts of the rules on all units together. */
  List<RuleVerdict> granted() {
    return Objects.requireNonNull(grant.verdict()).rules();
  }

  /**
   * The verdicts of the rules on one call: as of the grant, less what was spent here.
   *
   * @param taken what the call takes
   * @param unitsLeft the units of this lease that are left after the call
   * @param nowNanos when it was made
   */
  List<RuleVerdict> rules(int taken, long unitsLeft, long nowNanos) {
    Duration since = Duration.ofNanos(Math.max(0, nowNanos - askedNanos) / 1_000 * 1_000);
    List<RuleVerdict> rules = new ArrayList<>(granted().size());
    for (RuleVerdict rule : granted()) {
      rules.add(
          new RuleVerdict(
              rule.rule(),
              false,
              rule.remaining() + unitsLeft,
              taken,
              Optional.empty(),
              minus(rule.resetAfter(), since),
              minus(rule.effectiveWindow(), since),
              false,
              false,
              rule.warnAt()));
    }
    return rules;
  }

  private static Duration minus(Duration time, Duration since) {
    Duration left = time.minus(since);
    return left.isNegative() ? Duration.ZERO : left;
  }
}
