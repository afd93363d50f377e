// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.rule.RuleStack;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;

/**
 * Limits any operation, from any code.
 *
 * <pre>{@code
 * Policy failures = Policy.of("login-failures", SlidingWindowLogRule.of(3, Duration.ofMinutes(1)));
 * LimitRequest byUser = LimitRequest.of(failures, new Subject("user", name));
 * limiter.peek(byUser).thenAccept(verdict -> { if (!verdict.allowed()) askForCaptcha(); });
 * limiter.record(byUser); // a login failed: count it, even above the limit
 * limiter.reset(byUser);  // a login succeeded: forget the failures
 * }</pre>
 *
 * <p>No method blocks. Stages complete on a thread of the store, or on the calling thread.
 */
public final class Limiter {

  private final LimitStore store;

  public Limiter(LimitStore store) {
    this.store = store;
  }

  /**
   * Checks and counts: takes the units if every rule and the duplicate guard admit the call,
   * otherwise nothing.
   */
  public CompletionStage<Verdict> acquire(LimitRequest request) {
    return store.decide(request, Mode.ACQUIRE);
  }

  /** Checks without counting. */
  public CompletionStage<Verdict> peek(LimitRequest request) {
    return store.decide(request, Mode.PEEK);
  }

  /**
   * What the subjects of this request have used of each rule, in their order, and in which period.
   * Counts nothing. While the store is away it is what the fallback knows: {@link #peek} and {@link
   * Verdict#usage} show who decided, too.
   */
  public CompletionStage<List<Usage>> usage(LimitRequest request) {
    return peek(request).thenApply(Verdict::usage);
  }

  /**
   * Counts without checking. The verdict is allowed, unless the store is away and the fallback
   * denies calls. The store keeps only the newest units, as many as the largest rule of the limit
   * key allows.
   */
  public CompletionStage<Verdict> record(LimitRequest request) {
    return store.decide(request, Mode.RECORD);
  }

  /**
   * Gives back the units that a call took, at most once. Completes with the number of units given
   * back.
   */
  public CompletionStage<Long> refund(Verdict verdict) {
    return verdict.reservation().refund();
  }

  /**
   * Settles a call, at most once: reports its completion, which gives back the concurrency permits
   * it held and the units that its completion does not count. Completes with the number of units
   * given back.
   */
  public CompletionStage<Long> settle(Verdict verdict, Completion completion) {
    return verdict.reservation().settle(completion);
  }

  /**
   * Forgets everything that the rules of the request and {@link Policy#others() the others} of its
   * policy have counted for the subjects of this request, and lifts their bans. State of rules with
   * another algorithm or window that the policy does not list stays under its own key until it
   * expires.
   */
  public CompletionStage<Void> reset(LimitRequest request) {
    List<StateKey> keys = new ArrayList<>(keys(request));
    request.duplicate().map(Charge::key).ifPresent(keys::add);
    return store.reset(keys);
  }

  /**
   * Lifts the bans of the subjects of this request, and keeps what was counted. The denials that
   * caused them are forgotten, too: the next ban is as long as a first one.
   */
  public CompletionStage<Void> liftBans(LimitRequest request) {
    return store.liftBans(keys(request));
  }

  /** The keys of the subjects under the rules of the request and under the others. */
  private static List<StateKey> keys(LimitRequest request) {
    List<RuleStack> others = request.policy().others();
    return request.charges().stream()
        .map(Charge::key)
        .flatMap(key -> Stream.concat(Stream.of(key), others.stream().map(key::of)))
        .distinct()
        .toList();
  }
}
