// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.LeakyBucketRule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/**
 * The immutable answer to one decision.
 *
 * @param policy the policy that was applied, with all rules of the call as they were declared
 * @param outcome the outcome of the decision
 * @param rules the verdict of each rule, in the order of the policy; all of them, including rules
 *     that admit a denied call
 * @param duplicate the verdict of the duplicate guard
 * @param ban the remaining time of the ban that denies the call or that the call caused; the
 *     longest if several subjects of the call are banned
 * @param delay the time from the decision until the call may begin: zero unless a {@link
 *     LeakyBucketRule} makes it wait, and zero if the call is denied or was only recorded. The code
 *     that runs the call waits this long without holding a thread, or refunds the call
 * @param decidedBy who decided
 * @param reason why the fallback decided; empty if the store decided
 * @param storeRetryAfter the time after which the store is asked again; empty if the store decided,
 *     and if the next call asks it
 * @param reservation the handle to give back or settle what was taken
 * @param decidedAtMicros when the store decided, in microseconds on the clock of the first state
 *     key: orders the verdicts on that key; 0 if unknown
 */
public record Verdict(
    Policy policy,
    Outcome outcome,
    List<RuleVerdict> rules,
    Optional<RuleVerdict> duplicate,
    Optional<Duration> ban,
    Duration delay,
    DecidedBy decidedBy,
    Optional<FailureReason> reason,
    Optional<Duration> storeRetryAfter,
    Reservation reservation,
    long decidedAtMicros) {

  /** Creates a verdict whose time is unknown. */
  public Verdict(
      Policy policy,
      Outcome outcome,
      List<RuleVerdict> rules,
      Optional<RuleVerdict> duplicate,
      Optional<Duration> ban,
      Duration delay,
      DecidedBy decidedBy,
      Optional<FailureReason> reason,
      Optional<Duration> storeRetryAfter,
      Reservation reservation) {
    this(
        policy,
        outcome,
        rules,
        duplicate,
        ban,
        delay,
        decidedBy,
        reason,
        storeRetryAfter,
        reservation,
        0);
  }

  /** The verdict on a call that costs nothing, so that no store is asked. */
  public static Verdict free(Policy policy) {
    return new Verdict(
        policy,
        Outcome.ALLOWED,
        List.of(),
        Optional.empty(),
        Optional.empty(),
        Duration.ZERO,
        DecidedBy.NONE,
        Optional.empty(),
        Optional.empty(),
        Reservation.NOTHING);
  }

  /** Returns whether the call may continue. */
  public boolean allowed() {
    return outcome == Outcome.ALLOWED;
  }

  /** The rules that deny the call, in the order of the policy. */
  public List<RuleVerdict> violated() {
    List<RuleVerdict> violated = new ArrayList<>(rules.size());
    for (RuleVerdict rule : rules) {
      if (rule.denies()) {
        violated.add(rule);
      }
    }
    return Collections.unmodifiableList(violated);
  }

  /**
   * Returns whether a rule denies the call because it costs more than the rule ever admits at once,
   * so that waiting does not help.
   */
  public boolean tooCostly() {
    for (RuleVerdict rule : rules) {
      if (rule.denies() && rule.tooCostly()) {
        return true;
      }
    }
    return duplicate.isPresent() && duplicate.get().denies() && duplicate.get().tooCostly();
  }

  /**
   * The time after which the same call would pass every rule and the duplicate guard if there are
   * no calls in between: the longest of all rules that deny it. If no store decided, the time after
   * which the store is asked again. Empty if the call is allowed, if waiting does not help ({@link
   * #tooCostly()}), and if only a {@link ConcurrencyLimitRule} denies it, because the time at which
   * a permit becomes free is unknown.
   */
  public Optional<Duration> retryAfter() {
    if (outcome == Outcome.UNAVAILABLE) {
      return storeRetryAfter;
    }
    if (tooCostly()) {
      return Optional.empty();
    }
    Optional<Duration> longest = ban;
    for (RuleVerdict rule : rules) {
      longest = longer(longest, rule);
    }
    return duplicate.isPresent() ? longer(longest, duplicate.get()) : longest;
  }

  private static Optional<Duration> longer(Optional<Duration> known, RuleVerdict rule) {
    Optional<Duration> own = rule.denies() ? rule.retryAfter() : Optional.empty();
    return own.isPresent() && (known.isEmpty() || own.get().compareTo(known.get()) > 0)
        ? own
        : known;
  }

  /** Returns this verdict with another reservation. */
  public Verdict withReservation(Reservation other) {
    return new Verdict(
        policy,
        outcome,
        rules,
        duplicate,
        ban,
        delay,
        decidedBy,
        reason,
        storeRetryAfter,
        other,
        decidedAtMicros);
  }

  /** Returns this verdict as one of the fallback, which decided because the store failed. */
  public Verdict fromFallback(StoreException why) {
    return new Verdict(
        policy,
        outcome,
        rules,
        duplicate,
        ban,
        delay,
        DecidedBy.FALLBACK,
        Optional.of(why.reason()),
        why.retryAfter(),
        reservation,
        decidedAtMicros);
  }
}
