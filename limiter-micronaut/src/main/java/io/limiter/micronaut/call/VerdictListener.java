// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.core.Verdict;
import io.limiter.micronaut.plan.LimitPlan;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.propagation.PropagatedContext;
import io.micronaut.http.HttpRequest;

/**
 * Receives each verdict of gate and guard. Runs on the thread to which the decision returns, often
 * an event loop: it must not block or throw.
 */
@Internal
public interface VerdictListener {

  /** The gate begins to decide a request. */
  default void arrived(HttpRequest<?> request) {}

  /**
   * A call is decided. Not of a call that is charged nothing at the gate.
   *
   * @param context that of the call, which is not in force
   */
  void decided(LimitPlan plan, Verdict verdict, PropagatedContext context);
}
