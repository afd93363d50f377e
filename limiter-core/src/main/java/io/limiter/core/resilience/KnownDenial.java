// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import io.limiter.core.Charge;
import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.Outcome;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Counting;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A call that the store has denied, and will deny until some time. This is not known
 *
 * <ul>
 *   <li>for a call that may start another ban, since denied calls count as violations; while the
 *       caller is banned, it is known until the ban ends;
 *   <li>for a duplicate, since the submission that it repeats may be released at any time;
 *   <li>for rules that count by outcome, concurrency limits, and rules that make calls wait, since
 *       permits and units come back at any time; if other rules deny the call too, these determine
 *       the time;
 *   <li>for a call that is too costly, which has no such time.
 * </ul>
 *
 * Times are nanoseconds of a monotonic clock. Thread-safe.
 */
final class KnownDenial {

  private final LimitRequest request;
  private final Verdict verdict;
  private final long askedNanos;
  private final long answeredNanos;
  private final long deniedNanos;
  private final AtomicReference<@Nullable CompletableFuture<Optional<KnownDenial>>> look =
      new AtomicReference<>();

  private KnownDenial(
      LimitRequest request,
      Verdict verdict,
      long askedNanos,
      long answeredNanos,
      long deniedNanos) {
    this.request = request;
    this.verdict = verdict;
    this.askedNanos = askedNanos;
    this.answeredNanos = answeredNanos;
    this.deniedNanos = deniedNanos;
  }

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
    Duration denied = deniedFor(request, verdict);
    return denied.isZero()
        ? null
        : new KnownDenial(request, verdict, askedNanos, answeredNanos, denied.toNanos());
  }

  private static Duration deniedFor(LimitRequest request, Verdict verdict) {
    long bans = 0;
    for (Charge charge : request.charges()) {
      bans += charge.stack().ban().isPresent() && !charge.observed() ? 1 : 0;
    }
    if (verdict.outcome() == Outcome.BANNED) {
      return bans == 1 ? verdict.ban().orElse(Duration.ZERO) : Duration.ZERO;
    }
    boolean duplicate = verdict.duplicate().filter(RuleVerdict::denies).isPresent();
    return verdict.outcome() != Outcome.LIMITED || bans > 0 || duplicate
        ? Duration.ZERO
        : deniedByRules(request, verdict);
  }

  private static Duration deniedByRules(LimitRequest request, Verdict verdict) {
    Duration longest = Duration.ZERO;
    int next = 0;
    int ruleCount = verdict.rules().size();
    for (Charge charge : request.charges()) {
      boolean sure =
          charge.stack().counting() == Counting.ALL
              && charge.stack().permitDuration().isEmpty()
              && charge.stack().waiting().isEmpty();
      for (int r = 0; r < charge.stack().rules().size() && next < ruleCount; r++) {
        RuleVerdict rule = verdict.rules().get(next++);
        if (rule.tooCostly() && rule.denies()) {
          return Duration.ZERO;
        }
        Duration wait = sure && rule.denies() ? rule.retryAfter().orElse(longest) : longest;
        longest = wait.compareTo(longest) > 0 ? wait : longest;
      }
    }
    return longest;
  }

  /** Whether the call counts under one of these keys. */
  boolean isUnder(Collection<StateKey> keys) {
    return request.charges().stream().anyMatch(charge -> keys.contains(charge.key()));
  }

  /** Whether the store was asked after this time. */
  boolean isAskedAfter(long timeNanos) {
    return askedNanos - timeNanos > 0;
  }

  /** Whether the call may be admitted by now. */
  boolean isOver(long nowNanos) {
    return nowNanos - askedNanos >= deniedNanos;
  }

  /** Whether the verdict is recent enough to be repeated. */
  boolean isYoung(long nowNanos, long maxAgeNanos) {
    return nowNanos - askedNanos < maxAgeNanos;
  }

  /**
   * Whether the entry is useless: the next call would ask the store anyway, and no call is asking
   * it now.
   */
  boolean isStale(long nowNanos, long maxAgeNanos) {
    return isOver(nowNanos) || (!isYoung(nowNanos, maxAgeNanos) && look.get() == null);
  }

  /**
   * Begins to ask the store again.
   *
   * @param own completes with the result of this request
   * @return the result of a request that is under way; null if there is none
   */
  @Nullable CompletableFuture<Optional<KnownDenial>> begin(
      CompletableFuture<Optional<KnownDenial>> own) {
    return look.compareAndExchange(null, own);
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
    return later.build();
  }

  private static RuleVerdict later(RuleVerdict rule, Duration since) {
    if (rule.rule()
        instanceof ConcurrencyLimitRule) { // its times are its permit duration, at any time
      return rule;
    }
    RuleVerdict.Builder later =
        RuleVerdict.of(rule.rule())
            .remaining(rule.remaining())
            .resetAfter(minus(rule.resetAfter(), since))
            .effectiveWindow(minus(rule.effectiveWindow(), since))
            .observed(rule.observed());
    if (rule.tooCostly()) {
      later.tooCostly();
    } else if (rule.violated()) {
      rule.retryAfter()
          .ifPresentOrElse(wait -> later.violatedFor(minus(wait, since)), later::violated);
    }
    return later.build();
  }

  private static Duration minus(Duration time, Duration since) {
    return time.compareTo(since) > 0 ? time.minus(since) : Duration.ZERO;
  }
}
