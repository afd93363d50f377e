// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import io.limiter.core.Charge;
import io.limiter.core.ConcurrencyLimit;
import io.limiter.core.Counting;
import io.limiter.core.LimitRequest;
import io.limiter.core.Outcome;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Source;
import io.limiter.core.Verdict;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
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
  private final AtomicBoolean looking = new AtomicBoolean();

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
    if (verdict.allowed() || verdict.source() != Source.STORE) {
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

  /** Whether it is known of this call: the same units from the same keys by the same policy. */
  boolean isOf(LimitRequest other) {
    return request.equals(other);
  }

  /**
   * Whether it answers a call now. If not, the caller is the one to look at the store.
   *
   * @param maxAge age from which on one call looks at a time
   */
  boolean answers(long now, long maxAge) {
    long age = now - asked;
    if (age >= nanos || age >= 2 * maxAge) {
      return false;
    }
    return age < maxAge || !looking.compareAndSet(false, true);
  }

  /** Whether the next call would look at the store, whatever it finds here. */
  boolean isStale(long now, long maxAge) {
    return now - asked >= Math.min(nanos, maxAge);
  }

  /** The verdict on a call now. */
  Verdict verdict(long now) {
    Duration since = Duration.ofNanos(Math.max(0, now - answered) / 1_000 * 1_000);
    RuleVerdict[] rules = new RuleVerdict[verdict.rules().size()];
    for (int r = 0; r < rules.length; r++) {
      rules[r] = later(verdict.rules().get(r), since);
    }
    return verdict.remembered(List.of(rules), verdict.ban().map(rest -> minus(rest, since)));
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
