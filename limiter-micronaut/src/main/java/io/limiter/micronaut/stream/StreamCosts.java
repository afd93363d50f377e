// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.stream;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Verdict;
import io.limiter.micronaut.call.CallPart;
import io.limiter.micronaut.call.CallState;
import io.limiter.micronaut.plan.LimitPlan;
import jakarta.inject.Singleton;
import org.jspecify.annotations.Nullable;

/** Charges the items of streams. */
@Singleton
final class StreamCosts implements CallPart {

  private final LimitStore store;

  StreamCosts(LimitStore store) {
    this.store = store;
  }

  @Override
  public @Nullable Holder of(LimitPlan plan) {
    return StreamTerms.of(plan)
        .<Holder>map(terms -> (asked, verdict) -> admitted(plan, terms, asked, verdict))
        .orElse(null);
  }

  private @Nullable CallState admitted(
      LimitPlan plan, StreamTerms terms, LimitRequest asked, Verdict verdict) {
    if (!verdict.allowed()) {
      return null;
    }
    StreamedCost cost = new StreamedCost(store, plan, terms, asked);
    return cost.isEmpty() ? null : cost;
  }
}
