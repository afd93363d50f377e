// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.HttpService;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Run without Lettuce and micronaut-redis on the class path: see the execution in the POM. */
class LimitsWithoutRedisClient {

  private static final String SPEC = "WithoutRedisClient";

  @Controller("/memory")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/limited")
    @RateRule(count = 3, time = 3_600)
    String limited() {
      return "ok";
    }

    @Get("/by-argument/{who}")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 1, time = 3_600))
    String byArgument(String who) {
      return who;
    }

    @Post("/submit")
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(count = 1, time = 3_600))
    String submit() {
      return "ok";
    }
  }

  @Test
  void thereIsNoRedisClient() {
    assertThat(
            Stream.of(
                    "io.lettuce.core.RedisClient",
                    "io.micronaut.configuration.lettuce.RedisSetting")
                .filter(LimitsWithoutRedisClient::exists))
        .isEmpty();
  }

  private static boolean exists(String type) {
    try {
      Class.forName(type);
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  @Test
  void memoryDecides() {
    try (HttpService service = HttpService.start(SPEC, Map.of("limiter.headers.debug", true))) {
      List<Integer> statuses =
          IntStream.range(0, 5).mapToObj(i -> service.status("/memory/limited")).toList();

      assertThat(statuses).containsExactly(200, 200, 200, 429, 429);
      assertThat(service.get("/memory/limited").headers().firstValue("X-Decided-By"))
          .contains("STORE");
      assertThat(service.status("/memory/by-argument/ann")).isEqualTo(200);
      assertThat(service.status("/memory/by-argument/ann")).isEqualTo(429);
      assertThat(service.post("/memory/submit", "{}").statusCode()).isEqualTo(200);
      assertThat(service.post("/memory/submit", "{}").statusCode()).isEqualTo(409);
      assertThat(service.status("/health")).isEqualTo(200);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"redis.uri", "redis.uris"})
  void aRedisThatNothingCanConnectToStopsTheStart(String setting) {
    assertThat(Starts.mistake(Map.of(setting, "redis://localhost")))
        .hasMessageContaining(setting + " is set, but there is no Redis client")
        .hasMessageContaining("io.lettuce:lettuce-core");
  }
}
