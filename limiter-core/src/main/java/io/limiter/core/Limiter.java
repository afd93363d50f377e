// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
import java.util.concurrent.CompletionStage;

/**
 * Limits anything, from any code.
 *
 * <pre>{@code
 * Policy failures = Policy.of("login-failures", SlidingWindowLog.of(3, Duration.ofMinutes(1)));
 * LimitRequest byUser = LimitRequest.of(failures, new Subject("user", name));
 *
 * limiter.peek(byUser).thenAccept(verdict -> { if (!verdict.allowed()) askForCaptcha(); });
 * limiter.record(byUser); // a login failed: count it, whatever the rules say
 * limiter.reset(byUser);  // a login succeeded: forget the failures
 * }</pre>
 *
 * <p>No method blocks. Stages complete on a thread of the store, or on the calling one.
 */
public final class Limiter {

  private final LimitStore store;

  public Limiter(LimitStore store) {
    this.store = store;
  }

  /**
   * Checks and counts: takes the units if every rule and the duplicate guard admit the call, else
   * nothing.
   */
  public CompletionStage<Verdict> acquire(LimitRequest request) {
    return store.decide(request, Mode.ACQUIRE);
  }

  /** Checks without counting. */
  public CompletionStage<Verdict> peek(LimitRequest request) {
    return store.decide(request, Mode.PEEK);
  }

  /**
   * Counts without checking; the verdict is allowed, unless the store is away and the policy is to
   * refuse then. More than a rule's count is not remembered: the newest units are kept, as many as
   * the largest rule of the limit allows.
   */
  public CompletionStage<Verdict> record(LimitRequest request) {
    return store.decide(request, Mode.RECORD);
  }

  /** Gives back what a call took, once. Completes with the units that were given back. */
  public CompletionStage<Long> refund(Verdict verdict) {
    return verdict.reservation().refund();
  }

  /**
   * Tells how a call ended, once: gives back what it held while it ran and what its ending does not
   * count. Completes with the units that were given back.
   */
  public CompletionStage<Long> settle(Verdict verdict, Completion ending) {
    return verdict.reservation().settle(ending);
  }

  /** Forgets everything that was counted under the keys of this request. */
  public CompletionStage<Void> reset(LimitRequest request) {
    return store.reset(request.allCharges().stream().map(Charge::key).toList());
  }
}
