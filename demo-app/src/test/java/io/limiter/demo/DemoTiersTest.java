// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.Tiers;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.HttpRequest;
import io.micronaut.security.authentication.Authentication;
import io.micronaut.security.authentication.AuthenticationRequest;
import io.micronaut.security.authentication.AuthenticationResponse;
import io.micronaut.security.authentication.provider.HttpRequestAuthenticationProvider;
import jakarta.inject.Singleton;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Tiers by the roles of micronaut-security, as docs/configuration.md has them. */
class DemoTiersTest {

  private static final String ME = "io.limiter.demo.MeController.me(java.security.Principal)";

  @Singleton
  @Requires(property = "test.tiers")
  static final class PaidPlans implements Tiers {

    @Override
    public CompletionStage<String> of(HttpRequest<?> request) {
      boolean pro =
          request.getUserPrincipal(Authentication.class).stream()
              .anyMatch(user -> user.getRoles().contains("PRO"));
      return CompletableFuture.completedFuture(pro ? "pro" : "free");
    }
  }

  /** Is asked before the demo's users: each user's password is that user's role. */
  @Singleton
  @Requires(property = "test.tiers")
  static final class Customers<B> implements HttpRequestAuthenticationProvider<B>, Ordered {

    @Override
    public AuthenticationResponse authenticate(
        @Nullable HttpRequest<B> request, AuthenticationRequest<String, String> credentials) {
      return AuthenticationResponse.success(
          credentials.getIdentity(), List.of(credentials.getSecret()));
    }

    @Override
    public int getOrder() {
      return HIGHEST_PRECEDENCE;
    }
  }

  @Test
  void aRoleGivesOtherNumbersAndWhatWasUsedStays() {
    Map<String, Object> settings =
        Map.of(
            "test.tiers",
            true,
            "limiter.tier-lookup.cache-time",
            "1ms",
            "limiter.tiers.default",
            "free",
            "limiter.tiers.free",
            Map.of(ME, Map.of("rules", List.of(Map.of("count", 3, "time", "60s")))),
            "limiter.tiers.pro",
            Map.of(ME, Map.of("rules", List.of(Map.of("count", 6, "time", "60s")))),
            "limiter.tiers.staff",
            Map.of(ME, "unlimited"));
    try (Demo demo = new Demo(Demo.newService(), settings)) {
      assertThat(admitted(demo, "fay", "NONE", 8)).isEqualTo(3);
      assertThat(admitted(demo, "pat", "PRO", 8)).isEqualTo(6);
      assertThat(admitted(demo, "fay", "PRO", 8)).isEqualTo(3);
    }
  }

  private static long admitted(Demo demo, String user, String role, int calls) {
    String credentials =
        "Basic " + Base64.getEncoder().encodeToString((user + ":" + role).getBytes(UTF_8));
    return IntStream.range(0, calls)
        .filter(
            call -> demo.getLater("/me", "Authorization", credentials).join().statusCode() == 200)
        .count();
  }
}
