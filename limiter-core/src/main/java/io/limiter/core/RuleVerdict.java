// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Rule;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The state of one rule in a verdict. Example: a rule allows 10 units a minute, and 6 were used in
 * the last minute, the oldest of them 40 s ago. After a call is admitted, {@code remaining} is 3,
 * {@code taken} is 1, {@code resetAfter} is 60 s and {@code effectiveWindow} is 20 s. A store may
 * use the builder:
 *
 * <pre>{@code
 * RuleVerdict.of(rule)
 *     .remaining(3)
 *     .taken(1)
 *     .resetAfter(ofSeconds(60))
 *     .effectiveWindow(ofSeconds(20))
 *     .build();
 * }</pre>
 *
 * @param rule the rule
 * @param violated whether the rule denies the call, or would deny it if it were not {@link
 *     #observed()}
 * @param remaining units left after this decision; exact as of the decision, never negative
 * @param taken units that this call takes: its cost, even if it gives some back later; 0 if it is
 *     denied, only peeks, or would be denied if the rules of its subject were not observed
 * @param retryAfter if violated, the time after which the same call would pass if there are no
 *     calls in between. Exact to the microsecond; the actual time is shorter if reserved units are
 *     given back. Empty if the rule is not violated, if the call is {@link #tooCostly()}, and for a
 *     {@link ConcurrencyLimitRule}, because the end of a running call cannot be predicted
 * @param resetAfter the time after which the rule is fully replenished if there are no calls in
 *     between; for a {@link ConcurrencyLimitRule} its permit duration, or zero if no call is in
 *     flight
 * @param effectiveWindow the time after which the same call passes again if there are no calls in
 *     between. If it passes at once, the time within which no more than {@link #remaining()} units
 *     are available. Both as if this rule alone had decided. For a {@link ConcurrencyLimitRule} its
 *     permit duration, although units return whenever a call ends
 * @param tooCostly whether the rule is violated because the call costs more than the rule ever
 *     admits at once; such a call can never succeed
 * @param observed whether the rule is evaluated but not enforced
 * @param warnAt the share of its capacity from which on the rule is near its limit; 0 if it never
 *     is, see {@link io.limiter.core.rule.RuleStack#withWarnAt}
 */
public record RuleVerdict(
    Rule rule,
    boolean violated,
    long remaining,
    int taken,
    Optional<Duration> retryAfter,
    Duration resetAfter,
    Duration effectiveWindow,
    boolean tooCostly,
    boolean observed,
    double warnAt) {

  /** More than a product of a share and a count is rounded by, and less than a unit. */
  private static final double ROUNDING = 1e-6;

  /**
   * Begins the verdict of a rule. Without further steps the rule admits the call, has no units left
   * and is fully replenished, and its effective window is its window.
   */
  public static Builder of(Rule rule) {
    return new Builder(rule);
  }

  /** Returns whether the rule denies the call. */
  public boolean denies() {
    return violated && !observed;
  }

  /** The units that are used: all that are not left. */
  public long used() {
    return Math.max(0, rule.capacity() - remaining);
  }

  /**
   * Returns whether the used units have reached the share of the {@linkplain Rule#capacity()
   * capacity} that the policy warns at. A rule that is only observed has no limit to come near.
   */
  public boolean nearLimit() {
    return warnAt > 0
        && !observed
        && used() > 0 // a rule may admit nothing
        && (double) used() >= warnAt * (double) rule.capacity() - ROUNDING;
  }

  /** Builds a {@link RuleVerdict}. Every step is optional. Not thread-safe. */
  public static final class Builder {

    private final Rule rule;
    private boolean violated;
    private long remaining;
    private int taken;
    private Optional<Duration> retryAfter = Optional.empty();
    private Duration resetAfter = Duration.ZERO;
    private @Nullable Duration effectiveWindow;
    private boolean tooCostly;
    private boolean observed;
    private double warnAt;

    private Builder(Rule rule) {
      this.rule = rule;
    }

    /** Units left after the decision; 0 by default. */
    public Builder remaining(long units) {
      this.remaining = units;
      return this;
    }

    /** Units that the call takes; 0 by default. */
    public Builder taken(int units) {
      this.taken = units;
      return this;
    }

    /** The rule denies the call, which would pass after this time. */
    public Builder violatedFor(Duration untilAdmitted) {
      this.violated = true;
      this.retryAfter = Optional.of(untilAdmitted);
      return this;
    }

    /**
     * The rule denies the call for a time that cannot be predicted, as a {@link
     * ConcurrencyLimitRule} does.
     */
    public Builder violated() {
      this.violated = true;
      return this;
    }

    /** The rule denies the call, which costs more than the rule ever admits at once. */
    public Builder tooCostly() {
      this.violated = true;
      this.tooCostly = true;
      return this;
    }

    /** The time after which the rule is fully replenished; zero by default. */
    public Builder resetAfter(Duration untilReplenished) {
      this.resetAfter = untilReplenished;
      return this;
    }

    /** The time after which the same call passes again; the rule's window by default. */
    public Builder effectiveWindow(Duration window) {
      this.effectiveWindow = window;
      return this;
    }

    /** Whether the rule is evaluated but not enforced; false by default. */
    public Builder observed(boolean only) {
      this.observed = only;
      return this;
    }

    /** The share from which on the rule is near its limit; 0, never, by default. */
    public Builder warnAt(double share) {
      this.warnAt = share;
      return this;
    }

    /** Builds the verdict of the rule. */
    public RuleVerdict build() {
      return new RuleVerdict(
          rule,
          violated,
          remaining,
          taken,
          retryAfter,
          resetAfter,
          effectiveWindow == null ? rule.window() : effectiveWindow,
          tooCostly,
          observed,
          warnAt);
    }
  }
}
