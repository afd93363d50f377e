// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.rule.ConcurrencyLimit;
import io.limiter.core.rule.LeakyBucket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/**
 * The answer to one call.
 *
 * @param policy the policy that was applied, with all rules of the call as they were declared
 * @param outcome what became of the call
 * @param rules what each rule says, in the order of the policy; all of them, also those that admit
 *     a refused call
 * @param duplicate what the duplicate guard says
 * @param ban the rest of the ban under which the call falls, or which it brought about; the longest
 *     if several subjects of the call are banned
 * @param delay the time from the decision until the call may begin: zero unless a {@link
 *     LeakyBucket} makes it wait, and zero if it is refused or was only recorded. Whoever runs the
 *     call waits so long without holding a thread, or refunds it
 * @param decidedBy who decided
 * @param reason why the fallback decided; empty if the store did
 * @param storeRetryAfter the time after which the store is asked again; empty if it has decided,
 *     and if the next call asks it
 * @param reservation the way to give back what was taken
 * @param decidedAtMicros when the store decided, by the time of its first key in microseconds:
 *     orders the verdicts on that key; 0 if it is not known
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

  /** A verdict whose time is not known. */
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

  /** The verdict on a call that is charged nothing, so that no store is asked. */
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

  /** Whether the call may go on. */
  public boolean allowed() {
    return outcome == Outcome.ALLOWED;
  }

  /** The rules that refuse the call, in the order of the policy. */
  public List<RuleVerdict> violated() {
    List<RuleVerdict> violated = new ArrayList<>(rules.size());
    for (RuleVerdict rule : rules) {
      if (rule.refuses()) {
        violated.add(rule);
      }
    }
    return Collections.unmodifiableList(violated);
  }

  /**
   * Whether a rule refuses the call because it costs more than that ever allows at once, so that no
   * wait would help.
   */
  public boolean tooCostly() {
    for (RuleVerdict rule : rules) {
      if (rule.refuses() && rule.tooCostly()) {
        return true;
      }
    }
    return duplicate.isPresent() && duplicate.get().refuses() && duplicate.get().tooCostly();
  }

  /**
   * The time after which the same call would pass every rule and the duplicate guard, if nobody
   * calls in between: the longest of all that refuse. Where nobody looked, the time after which the
   * store is asked again. Empty if it is allowed, and if no wait would help ({@link #tooCostly()})
   * or none is known to: nobody knows when a place of a {@link ConcurrencyLimit} becomes free. If
   * such a rule refuses it and others do too, it is the time that they give.
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
    Optional<Duration> own = rule.refuses() ? rule.retryAfter() : Optional.empty();
    return own.isPresent() && (known.isEmpty() || own.get().compareTo(known.get()) > 0)
        ? own
        : known;
  }

  /** The same verdict, with another way to give back what was taken. */
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

  /** The same verdict, given by the fallback because the store has failed. */
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
