// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.Tiers;
import io.micronaut.http.HttpRequest;
import io.micronaut.security.authentication.Authentication;
import jakarta.inject.Singleton;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

@Singleton
class PaidPlans implements Tiers {

  @Override
  public CompletionStage<String> of(HttpRequest<?> request) {
    boolean pro =
        request.getUserPrincipal(Authentication.class).stream()
            .anyMatch(user -> user.getRoles().contains("PRO"));
    return CompletableFuture.completedFuture(pro ? "pro" : "free");
  }
}
