// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.core.LimitRequest;
import io.limiter.core.Verdict;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
import io.limiter.micronaut.plan.LimitPlan;
import io.micronaut.core.annotation.Internal;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * What a store answers. It may be the application's, and Java lets that give null: then nobody is
 * let in, and the message says who gave no answer.
 */
@Internal
public final class StoreAnswer {

  private StoreAnswer() {}

  /** Asks for a decision on a call of this plan's method. */
  public static CompletionStage<Verdict> ask(
      LimitStore store, LimitRequest request, LimitPlan plan) {
    CompletionStage<Verdict> stage = store.decide(request, Mode.ACQUIRE);
    if (stage == null) {
      throw new IllegalStateException(
          "%s gave null for the decision on %s: let decide() give a stage, which completes with a verdict or fails with a StoreException"
              .formatted(store.getClass().getName(), plan.method()));
    }
    return stage;
  }

  /** The verdict, which has to be one. */
  public static Verdict present(@Nullable Verdict verdict, LimitPlan plan) {
    if (verdict == null) {
      throw new IllegalStateException("The store gave no verdict on " + plan.method());
    }
    return verdict;
  }
}
