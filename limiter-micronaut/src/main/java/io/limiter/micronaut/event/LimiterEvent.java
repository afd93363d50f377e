// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.event;

import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.Outcome;
import io.limiter.core.rule.Rule;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * What happens in the limiter, as application events of Micronaut. A listener of one of these
 * types, or of this one for all of them, is called on a thread of the limiter and never on an event
 * loop. Events are called one after another, in order. If listeners are slower than events, events
 * are dropped beyond {@code limiter.events.queue-size}.
 *
 * <p>Each denied call of a limited method is one {@link CallDenied} or one {@link DuplicateDenied}.
 * Calls from code, through {@link io.limiter.core.Limiter}, are no events.
 *
 * <p>A subject is a digest of 22 characters, keyed with {@code limiter.redis.key-secret}, else with
 * a random key of this process. It is equal for one subject under one limit key. With the secret it
 * is also the part in braces of the subject's keys in Redis.
 */
public sealed interface LimiterEvent {

  /**
   * A call was denied, though not as a duplicate.
   *
   * @param policy the name of the policy
   * @param method the method's class, name and parameter types
   * @param outcome {@link Outcome#LIMITED}, {@link Outcome#BANNED} or {@link Outcome#UNAVAILABLE}
   * @param rule the name of the rule that denies the call for the longest time; empty if no rule
   *     does, but a ban or the fallback
   * @param retryAfter the time after which the same call may be admitted; empty if it is unknown,
   *     or the call can never succeed
   * @param decidedBy who decided
   * @param subject the digest of the subject that is denied; of the first one if no single subject
   *     is
   */
  record CallDenied(
      String policy,
      String method,
      Outcome outcome,
      String rule,
      Optional<Duration> retryAfter,
      DecidedBy decidedBy,
      String subject)
      implements LimiterEvent {}

  /**
   * A submission was denied because an equal one was accepted before.
   *
   * @param policy the name of the policy
   * @param method the method's class, name and parameter types
   * @param retryAfter the time after which an equal submission is accepted
   * @param decidedBy who decided
   * @param subject the digest of the submitter
   */
  record DuplicateDenied(
      String policy,
      String method,
      Optional<Duration> retryAfter,
      DecidedBy decidedBy,
      String subject)
      implements LimiterEvent {}

  /**
   * A ban has begun. The call that caused it was denied, too. Later calls of the subject are only
   * {@link CallDenied}. The event is published by the instance that decided that call.
   *
   * @param policy the name of the policy
   * @param method the class, name and parameter types of the method that was called
   * @param ban the duration of the ban
   * @param subject the digest of the banned subject
   */
  record CallerBanned(String policy, String method, Duration ban, String subject)
      implements LimiterEvent {}

  /**
   * A subject has come near a limit: it has used the share of a rule that {@code warnAt} of the
   * policy states. Each instance publishes it once for each subject, rule and period.
   *
   * @param policy the name of the policy
   * @param method the class, name and parameter types of the method that was called
   * @param rule the name of the rule
   * @param used units that are used of it
   * @param left units that are left of it
   * @param resetAfter the time until the end of the window; under other rules, until all units are
   *     left again if there are no calls until then. It is not reported again before
   * @param subject the digest of the subject
   */
  record NearLimit(
      String policy,
      String method,
      String rule,
      long used,
      long left,
      Duration resetAfter,
      String subject)
      implements LimiterEvent {}

  /**
   * A Redis node failed so often that its breaker opened, or five calls in a row found no
   * connection to it. The fallback decides in its place until {@link StoreBack}.
   *
   * @param node its name in messages, such as {@code Redis at db:6379}
   * @param reason how it failed last
   * @param message the message of that failure
   */
  record StoreLost(String node, FailureReason reason, String message) implements LimiterEvent {}

  /**
   * A lost Redis node has answered a call: it decides again.
   *
   * @param node its name in messages
   */
  record StoreBack(String node) implements LimiterEvent {}

  /**
   * The rules of a policy were changed while the service runs.
   *
   * @param policy the name of the policy
   * @param change what has changed, in words
   * @param before the rules until now, in the order of the policy; empty if it is new
   * @param after the rules from now on; empty if it limits nothing any more
   */
  record PolicyChanged(String policy, String change, List<Rule> before, List<Rule> after)
      implements LimiterEvent {

    public PolicyChanged {
      before = List.copyOf(before);
      after = List.copyOf(after);
    }
  }

  /**
   * A person, or a program, has changed something through the endpoint {@code limits}, or has tried
   * to. The logger {@code io.limiter.audit} has the same as a line, which is not dropped.
   *
   * @param who the name of the principal; {@code anonymous} if there is none
   * @param change what was done: {@code reset}, {@code lift-ban}, {@code observe} or {@code
   *     forget-talkers}
   * @param policy the name of the policy
   * @param subject the digests of the subjects, separated by commas; empty if the change is not
   *     about subjects
   * @param before the state until now, in words
   * @param after the state from now on, in words; of a change that failed, why it did
   */
  record Audit(
      String who, String change, String policy, String subject, String before, String after)
      implements LimiterEvent {}
}
