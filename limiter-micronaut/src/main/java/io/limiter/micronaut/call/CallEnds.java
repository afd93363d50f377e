// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.core.Verdict;
import io.limiter.micronaut.plan.LimitPlan;
import io.micronaut.core.annotation.Internal;
import jakarta.inject.Singleton;

/** Watches over admitted calls until they end. */
@Internal
@Singleton
public final class CallEnds {

  private final PermitRenewal timer;

  CallEnds(PermitRenewal timer) {
    this.timer = timer;
  }

  /** Begins to watch over a call, whose end has to be reported to it from now on. */
  public AdmittedCall begin(LimitPlan plan, Verdict verdict) {
    return plan.countsByEnd()
        ? AdmittedCall.of(plan.outcomes(), plan.release(), verdict, timer)
        : AdmittedCall.NOTHING;
  }
}
