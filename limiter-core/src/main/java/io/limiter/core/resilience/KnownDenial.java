// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import io.limiter.core.Charge;
import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.Outcome;
import io.limiter.core.Reservation;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.rule.ConcurrencyLimit;
import io.limiter.core.rule.Counting;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A call that the store has refused, and will until some time. That is not known
 *
 * <ul>
 *   <li>of a call that another ban may come to, since refused calls count towards it; while the
 *       caller is banned it is known until the ban ends;
 *   <li>of a duplicate, since the submission that it repeats may be released any time;
 *   <li>of rules that count by outcome, that limit calls in flight, or whose calls wait, since
 *       places and units come back any time; if other rules refuse the call too, it is known from
 *       those;
 *   <li>of a call that is too costly for any time.
 * </ul>
 *
 * Times are nanoseconds of a monotonic clock. Any thread may ask.
 */
final class KnownDenial {

  private final LimitRequest request;
  private final Verdict verdict;
  private final long asked;
  private final long answered;
  private final long nanos;
  private final AtomicReference<@Nullable CompletableFuture<Optional<KnownDenial>>> look =
      new AtomicReference<>();

  private KnownDenial(
      LimitRequest request, Verdict verdict, long asked, long answered, long nanos) {
    this.request = request;
    this.verdict = verdict;
    this.asked = asked;
    this.answered = answered;
    this.nanos = nanos;
  }

  /**
   * What a verdict says of later calls; null if that is nothing.
   *
   * @param asked when the store was asked: it decided then or later
   * @param answered when its answer was there: it decided then or before
   */
  static @Nullable KnownDenial of(
      LimitRequest request, Verdict verdict, long asked, long answered) {
    if (verdict.allowed() || verdict.decidedBy() != DecidedBy.STORE) {
      return null;
    }
    Duration refused = refusedFor(request, verdict);
    return refused.isZero()
        ? null
        : new KnownDenial(request, verdict, asked, answered, refused.toNanos());
  }

  private static Duration refusedFor(LimitRequest request, Verdict verdict) {
    long bans = 0;
    for (Charge charge : request.charges()) {
      bans += charge.stack().ban().isPresent() && !charge.observed() ? 1 : 0;
    }
    if (verdict.outcome() == Outcome.BANNED) {
      return bans == 1 ? verdict.ban().orElse(Duration.ZERO) : Duration.ZERO;
    }
    boolean duplicate = verdict.duplicate().filter(RuleVerdict::refuses).isPresent();
    return verdict.outcome() != Outcome.LIMITED || bans > 0 || duplicate
        ? Duration.ZERO
        : refusedByRules(request, verdict);
  }

  private static Duration refusedByRules(LimitRequest request, Verdict verdict) {
    Duration longest = Duration.ZERO;
    int next = 0;
    int told = verdict.rules().size();
    for (Charge charge : request.charges()) {
      boolean sure =
          charge.stack().counting() == Counting.ALL
              && charge.stack().lease().isEmpty()
              && charge.stack().waiting().isEmpty();
      for (int r = 0; r < charge.stack().rules().size() && next < told; r++) {
        RuleVerdict rule = verdict.rules().get(next++);
        if (rule.tooCostly() && rule.refuses()) {
          return Duration.ZERO;
        }
        Duration wait = sure && rule.refuses() ? rule.retryAfter().orElse(longest) : longest;
        longest = wait.compareTo(longest) > 0 ? wait : longest;
      }
    }
    return longest;
  }

  /** Whether it counts under one of these keys. */
  boolean isUnder(Collection<StateKey> keys) {
    return request.charges().stream().anyMatch(charge -> keys.contains(charge.key()));
  }

  /** Whether the store was asked later than at this time. */
  boolean isAskedAfter(long time) {
    return asked - time > 0;
  }

  /** Whether the time has come at which the call may be admitted. */
  boolean isOver(long now) {
    return now - asked >= nanos;
  }

  /** Whether it is known well enough to be told. */
  boolean isYoung(long now, long maxAge) {
    return now - asked < maxAge;
  }

  /** Whether it is of no use any more: the next call would ask the store, and none does. */
  boolean isStale(long now, long maxAge) {
    return isOver(now) || (!isYoung(now, maxAge) && look.get() == null);
  }

  /**
   * Begins a look at the store.
   *
   * @param own completes with what the look finds
   * @return that of a look that is under way; null if this is the only one
   */
  @Nullable CompletableFuture<Optional<KnownDenial>> begin(
      CompletableFuture<Optional<KnownDenial>> own) {
    return look.compareAndExchange(null, own);
  }

  /**
   * The verdict on a call now.
   *
   * @param call the same units from the same keys, by any policy, as any submission
   */
  Verdict verdict(LimitRequest call, long now) {
    Duration since = Duration.ofNanos(Math.max(0, now - answered) / 1_000 * 1_000);
    RuleVerdict[] rules = new RuleVerdict[verdict.rules().size()];
    for (int r = 0; r < rules.length; r++) {
      rules[r] = later(verdict.rules().get(r), since);
    }
    return new Verdict(
        call.policy(),
        verdict.outcome(),
        List.of(rules),
        call.duplicate().equals(request.duplicate()) ? verdict.duplicate() : Optional.empty(),
        verdict.ban().map(rest -> minus(rest, since)),
        Duration.ZERO,
        DecidedBy.DENY_CACHE,
        Optional.empty(),
        Optional.empty(),
        Reservation.NOTHING);
  }

  private static RuleVerdict later(RuleVerdict rule, Duration since) {
    if (rule.rule() instanceof ConcurrencyLimit) { // its times are its lease, whenever one looks
      return rule;
    }
    return new RuleVerdict(
        rule.rule(),
        rule.violated(),
        rule.remaining(),
        rule.retryAfter().map(wait -> minus(wait, since)),
        minus(rule.resetAfter(), since),
        minus(rule.effectiveWindow(), since),
        rule.tooCostly(),
        rule.observed());
  }

  private static Duration minus(Duration time, Duration since) {
    return time.compareTo(since) > 0 ? time.minus(since) : Duration.ZERO;
  }
}
