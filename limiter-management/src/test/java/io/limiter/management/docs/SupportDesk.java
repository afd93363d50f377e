// SPDX-License-Identifier: Apache-2.0
package io.limiter.management.docs;

import io.limiter.core.LimitRequest;
import io.limiter.management.LimitOverrides;
import io.limiter.management.SubjectOverride;
import io.limiter.micronaut.plan.LimitPolicies;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;

@Singleton
@Requires(beans = LimitOverrides.class)
class SupportDesk {

  private final LimitPolicies policies;
  private final LimitOverrides overrides;

  SupportDesk(LimitPolicies policies, LimitOverrides overrides) {
    this.policies = policies;
    this.overrides = overrides;
  }

  CompletionStage<List<SubjectOverride>> helpAda() {
    LimitRequest ada = policies.get("api").forUser("ada");
    return overrides.put(ada, Map.of("100-per-60s", 500L), Duration.ofHours(2));
  }

  CompletionStage<List<SubjectOverride>> testAll() {
    LimitRequest tests = policies.get("search").forAddress("192.0.2.7");
    return overrides.unlimited(tests, Duration.ofMinutes(30));
  }
}
