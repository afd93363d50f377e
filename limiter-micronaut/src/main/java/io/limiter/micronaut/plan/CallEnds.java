// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Verdict;
import jakarta.inject.Singleton;

/** Watches over admitted calls until they end. */
@Singleton
public final class CallEnds {

  private final LeaseTimer timer;

  CallEnds(LeaseTimer timer) {
    this.timer = timer;
  }

  /**
   * Begins to watch over a call: from now on its leases are renewed, so whoever admits it sees to
   * it that it ends.
   */
  public CallEnd begin(LimitPlan plan, Verdict verdict) {
    return plan.outcomes().decide()
        ? CallEnd.of(plan.outcomes(), verdict.receipt(), timer)
        : CallEnd.NOTHING;
  }
}
