// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.rule.ConcurrencyLimit;
import io.limiter.core.rule.Rule;
import java.time.Duration;
import java.util.Optional;

/**
 * What one rule says of a call. If 10 a minute are allowed and 6 were used in the last minute, the
 * oldest of them 40 s ago, then after an allowed call {@code remaining} is 3, {@code resetAfter} 60
 * s and {@code effectiveWindow} 20 s.
 *
 * @param rule the rule
 * @param violated whether it refuses the call, or would if it were not {@code observed}
 * @param remaining units left once this call is decided; exact as of the decision, never negative
 * @param retryAfter if violated, the time after which the same call would pass, if nobody calls in
 *     between: exact to the microsecond, and less if units are given back meanwhile that are
 *     reserved now; empty if the call is {@code tooCostly}, if the rule is a {@link
 *     ConcurrencyLimit}, since nobody knows when a call ends, and if it is not violated
 * @param resetAfter the time after which the rule is as if never used, if nobody calls in between;
 *     of a {@link ConcurrencyLimit} its lease, or zero if nothing is in flight
 * @param effectiveWindow the time within which no more than {@code remaining} units can be had; of
 *     a {@link ConcurrencyLimit} its lease, though units come back whenever a call ends
 * @param tooCostly whether it is violated by a call that costs more than the rule allows at once,
 *     which no wait would change
 * @param observed whether the rule is only observed: it says what it would do, and refuses nobody
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

  /** Of a rule that is not only observed; too costly if it gives no time that it could know. */
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
        violated && retryAfter.isEmpty() && !(rule instanceof ConcurrencyLimit),
        false);
  }

  /** Whether the rule refuses the call. */
  public boolean refuses() {
    return violated && !observed;
  }
}
