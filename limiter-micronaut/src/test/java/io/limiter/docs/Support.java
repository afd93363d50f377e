// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.core.Limiter;
import io.limiter.micronaut.plan.LimitPolicies;
import jakarta.inject.Singleton;
import java.util.concurrent.CompletionStage;

@Singleton
class Support {

  private final Limiter limiter;
  private final LimitPolicies policies;

  Support(Limiter limiter, LimitPolicies policies) {
    this.limiter = limiter;
    this.policies = policies;
  }

  CompletionStage<Boolean> isLocked(String address) {
    return limiter
        .peek(policies.get("passcodes").forAddress(address))
        .thenApply(verdict -> !verdict.allowed());
  }

  CompletionStage<Void> unlock(String address) {
    return limiter.reset(policies.get("passcodes").forAddress(address));
  }
}
