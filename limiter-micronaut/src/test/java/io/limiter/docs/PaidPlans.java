// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.Tiers;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Singleton;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

@Singleton
class PaidPlans implements Tiers {
  private final Map<String, String> plans = Map.of("key-of-a-customer", "pro"); // by API key

  @Override
  public Optional<String> caller(HttpRequest<?> request) {
    return request.getHeaders().findFirst("X-Api-Key").filter(plans::containsKey); // verified
  }

  @Override
  public CompletionStage<String> of(HttpRequest<?> request) {
    return CompletableFuture.completedFuture(plans.get(request.getHeaders().get("X-Api-Key")));
  }
}
