// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import java.time.Duration;
import java.util.Optional;

/**
 * What one rule says of a call. If 10 a minute are allowed and 6 were used in the last minute, the
 * oldest of them 40 s ago, then after an allowed call {@code remaining} is 3, {@code resetAfter} 60
 * s and {@code effectiveWindow} 20 s.
 *
 * @param rule the rule
 * @param violated whether it refuses the call
 * @param remaining units left once this call is decided; exact as of the decision, never negative
 * @param retryAfter if violated, the time after which the same call would pass, if nobody calls in
 *     between: exact to the microsecond; empty if it could never pass because it costs more than
 *     the rule allows, and if the rule is not violated
 * @param resetAfter the time after which the rule is as if never used, if nobody calls in between
 * @param effectiveWindow the time within which no more than {@code remaining} units can be had
 */
public record RuleVerdict(
    Rule rule,
    boolean violated,
    long remaining,
    Optional<Duration> retryAfter,
    Duration resetAfter,
    Duration effectiveWindow) {}
