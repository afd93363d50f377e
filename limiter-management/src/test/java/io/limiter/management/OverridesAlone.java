// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.plan.LimitPolicies;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import java.time.Duration;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Overrides from code, in memory: the build runs it without the optional dependencies. */
class OverridesAlone {

  private static final String SPEC = "OverridesAlone";

  @Controller("/alone")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get
    @RateLimiter(
        value = "alone",
        limitType = LimitType.HEADER,
        header = "X-Key",
        rules = @RateRule(count = 2))
    String get() {
      return "ok";
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "io.lettuce.core.RedisURI",
        "io.micronaut.management.endpoint.annotation.Endpoint"
      })
  void theyAreNotThere(String type) {
    try {
      Class<?> found = Class.forName(type);
      assertThat(found).as("only without its dependency").isNull();
    } catch (ClassNotFoundException expected) {
      assertThat(expected).hasMessage(type);
    }
  }

  @Test
  void overridesHoldAndCallersAreBlocked() {
    try (HttpService service =
        HttpService.start(
            SPEC,
            Map.of(
                "limiter.overrides.enabled",
                true,
                "endpoints.limits.enabled",
                true,
                HttpService.AT_ROOT, // nothing listens on a port for endpoints
                true))) {
      LimitOverrides overrides = service.bean(LimitOverrides.class);
      var unused =
          overrides
              .put(
                  service.bean(LimitPolicies.class).get("alone").forHeader("X-Key", "ada"),
                  Map.of("2-per-60s", 3L),
                  Duration.ofHours(1))
              .toCompletableFuture()
              .join();
      assertThat(IntStream.range(0, 4).mapToObj(i -> service.status("/alone", "X-Key", "ada")))
          .containsExactly(200, 200, 200, 429);
      assertThat(service.status("/limits")).isEqualTo(404);
      var listed =
          overrides
              .list(
                  ListedCaller.ofAddress(
                      ListedCaller.Kind.BLOCK, "127.0.0.1", Duration.ofHours(1), "", "test"))
              .toCompletableFuture()
              .join();
      assertThat(listed).hasSize(1);
      assertThat(service.status("/alone", "X-Key", "bob")).isEqualTo(403);
    }
  }
}
