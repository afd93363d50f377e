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

  /** Begins to watch over a call, whose end has to be reported to it from now on. */
  public CallEnd begin(LimitPlan plan, Verdict verdict) {
    return plan.countsByEnd()
        ? CallEnd.of(plan.outcomes(), plan.release(), verdict, timer)
        : CallEnd.NOTHING;
  }
}
