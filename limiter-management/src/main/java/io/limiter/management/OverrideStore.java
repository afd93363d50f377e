// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.Reservation;
import io.limiter.core.Verdict;
import io.limiter.core.store.DelegatingStore;
import io.limiter.micronaut.redis.StoreLayer;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Decides calls of some subjects by other limits than those of the request. It stands in front of a
 * deny cache and a fallback, so these see only the limits that hold. A rule keeps its name; the
 * verdict has the counts that decided.
 */
final class OverrideStore extends DelegatingStore {

  private final OverridesInForce overrides;

  /**
   * @param store decides by the limits that hold
   */
  OverrideStore(LimitStore store, OverridesInForce overrides) {
    super(store);
    this.overrides = overrides;
  }

  /**
   * Puts the overrides in front of the store that decides, also of one of the application: the
   * stores behind them know only the limits that hold.
   */
  @Singleton
  @OverridesConfiguration.Enabled
  record InFront(OverridesInForce overrides) implements StoreLayer {

    @Override
    public LimitStore around(LimitStore store) {
      return new OverrideStore(store, overrides);
    }

    @Override
    public boolean isForAny() {
      return true;
    }
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    List<Charge> changed = overrides.changed(request);
    if (changed == null) {
      return store.decide(request, mode);
    }
    if (changed.isEmpty() && request.duplicate().isEmpty()) {
      return CompletableFuture.completedFuture(Verdict.free(request.policy()));
    }
    Policy policy = request.policy().withStacks(changed.stream().map(Charge::stack).toList());
    return store
        .decide(new LimitRequest(policy, changed, request.duplicate(), request.past()), mode)
        .thenApply(
            verdict ->
                verdict.withReservation(new Reservation.Replaced(verdict.reservation(), request)));
  }
}
