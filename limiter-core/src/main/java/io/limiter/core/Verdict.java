// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The answer to one call.
 *
 * @param policy the policy that was applied
 * @param outcome what became of the call
 * @param rules what each rule says, in the order of the policy; all of them, also those that admit
 *     a refused call
 * @param duplicate what the duplicate guard says
 * @param ban the rest of the ban under which the call falls, or which it brought about; the longest
 *     if several subjects of the call are banned
 * @param source who decided
 * @param reason why the fallback decided; empty if the store did
 * @param storeRetryAfter the time after which the store is asked again; empty if it has decided,
 *     and if the next call asks it
 * @param receipt the way to give back what was taken
 */
public record Verdict(
    Policy policy,
    Outcome outcome,
    List<RuleVerdict> rules,
    Optional<RuleVerdict> duplicate,
    Optional<Duration> ban,
    Source source,
    Optional<FailureReason> reason,
    Optional<Duration> storeRetryAfter,
    Receipt receipt) {

  /** The verdict on a call that is charged nothing, so that nobody is asked. */
  public static Verdict free(Policy policy) {
    return new Verdict(
        policy,
        Outcome.ALLOWED,
        List.of(),
        Optional.empty(),
        Optional.empty(),
        Source.STORE,
        Optional.empty(),
        Optional.empty(),
        Receipt.NOTHING);
  }

  /** Whether the call may go on. */
  public boolean allowed() {
    return outcome == Outcome.ALLOWED;
  }

  /** The rules that refuse the call, in the order of the policy. */
  public List<RuleVerdict> violated() {
    return rules.stream().filter(RuleVerdict::violated).toList();
  }

  /**
   * The time after which the same call would pass every rule and the duplicate guard, if nobody
   * calls in between: the longest of all that refuse. Where nobody looked, the time after which the
   * store is asked again. Empty if it is allowed, and if no wait would help or none is known to.
   */
  public Optional<Duration> retryAfter() {
    if (outcome == Outcome.UNAVAILABLE) {
      return storeRetryAfter;
    }
    List<RuleVerdict> refusing =
        Stream.concat(rules.stream(), duplicate.stream()).filter(RuleVerdict::violated).toList();
    if (refusing.stream().anyMatch(rule -> rule.retryAfter().isEmpty())) {
      return Optional.empty();
    }
    return Stream.concat(
            refusing.stream().flatMap(rule -> rule.retryAfter().stream()), ban.stream())
        .max(Comparator.naturalOrder());
  }

  /** The same verdict, given by the fallback because the store has failed. */
  public Verdict fromFallback(StoreException why) {
    return new Verdict(
        policy,
        outcome,
        rules,
        duplicate,
        ban,
        Source.FALLBACK,
        Optional.of(why.reason()),
        why.retryAfter(),
        receipt);
  }
}
