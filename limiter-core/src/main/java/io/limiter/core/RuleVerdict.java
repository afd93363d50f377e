// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Rule;
import java.time.Duration;
import java.util.Optional;

/**
 * The state of one rule in a verdict. Example: a rule allows 10 units a minute, and 6 were used in
 * the last minute, the oldest of them 40 s ago. After a call is admitted, {@code remaining} is 3,
 * {@code resetAfter} is 60 s and {@code effectiveWindow} is 20 s.
 *
 * @param rule the rule
 * @param violated whether the rule denies the call, or would deny it if it were not {@code
 *     observed}
 * @param remaining units left after this decision; exact as of the decision, never negative
 * @param retryAfter if violated, the time after which the same call would pass if there are no
 *     calls in between. Exact to the microsecond; the actual time is shorter if reserved units are
 *     given back. Empty if the rule is not violated, if the call is {@code tooCostly}, and for a
 *     {@link ConcurrencyLimitRule}, because the end of a running call cannot be predicted
 * @param resetAfter the time after which the rule is fully replenished if there are no calls in
 *     between; for a {@link ConcurrencyLimitRule} its permit duration, or zero if no call is in
 *     flight
 * @param effectiveWindow the time within which no more than {@code remaining} units are available;
 *     for a {@link ConcurrencyLimitRule} its permit duration, although units return whenever a call
 *     ends
 * @param tooCostly whether the rule is violated because the call costs more than the rule ever
 *     admits at once, so that waiting does not help
 * @param observed whether the rule is evaluated but not enforced
 */
public record RuleVerdict(
    Rule rule,
    boolean violated,
    long remaining,
    Optional<Duration> retryAfter,
    Duration resetAfter,
    Duration effectiveWindow,
    boolean tooCostly,
    boolean observed) {

  /**
   * Creates the verdict of an enforced rule. It is too costly if it is violated without a
   * retry-after, unless the rule is a {@link ConcurrencyLimitRule}.
   */
  public RuleVerdict(
      Rule rule,
      boolean violated,
      long remaining,
      Optional<Duration> retryAfter,
      Duration resetAfter,
      Duration effectiveWindow) {
    this(
        rule,
        violated,
        remaining,
        retryAfter,
        resetAfter,
        effectiveWindow,
        violated && retryAfter.isEmpty() && !(rule instanceof ConcurrencyLimitRule),
        false);
  }

  /** Returns whether the rule denies the call. */
  public boolean denies() {
    return violated && !observed;
  }
}
