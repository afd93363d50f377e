// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.LeakyBucket;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import java.net.http.HttpResponse;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A policy that is only observed reports what it would decide, and never denies. */
class ObservedPolicyTest {

  private static final String SPEC = "ObservedPolicyTest";

  @Controller("/observed")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/rule")
    @RateLimiter(value = "rule", rules = @RateRule(count = 1))
    String rule() {
      return "ok";
    }

    @Get("/argument")
    @RateLimiter(value = "argument", subject = "#{who}", rules = @RateRule(count = 1))
    String argument(@QueryValue String who) {
      return "ok";
    }

    @Get("/duplicate")
    @RateLimiter(value = "duplicate", preventDuplicate = true)
    String duplicate() {
      return "ok";
    }

    @Get("/waiting")
    @RateLimiter(
        value = "waiting",
        rules = @RateRule(count = 1, time = 60, leakyBucket = @LeakyBucket(queue = 1)))
    String waiting() {
      return "ok";
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void everyCallIsAdmittedWithTheHeaderFields(boolean gate) {
    try (TestServer server = start(Map.of("limiter.gate.enabled", gate))) {
      for (String path : new String[] {"/observed/rule", "/observed/argument?who=a"}) {
        for (int i = 0; i < 3; i++) {
          HttpResponse<String> answer = server.get(path);
          assertThat(answer.statusCode()).isEqualTo(200);
          assertThat(field(answer, "RateLimit")).startsWith("\"1-per-60s\";r=0;t=");
        }
      }
      assertThat(server.get("/observed/duplicate").statusCode()).isEqualTo(200);
      assertThat(server.get("/observed/duplicate").statusCode()).isEqualTo(200);
    }
  }

  @Test
  void noCallWaits() {
    try (TestServer server = start(Map.of())) {
      long begin = System.nanoTime();
      for (int i = 0; i < 4; i++) {
        assertThat(server.get("/observed/waiting").statusCode()).isEqualTo(200);
      }
      assertThat((System.nanoTime() - begin) / 1_000_000).isLessThan(30_000);
    }
  }

  @Test
  void aStoreThatIsAwayDeniesNothingEither() {
    try (RedisProcess redis = RedisProcess.onFreePort().start();
        TestServer server = start(Map.of("redis.uri", redis.uri(), "limiter.fallback", "deny"))) {
      assertThat(server.get("/observed/rule").statusCode()).isEqualTo(200);
      redis.kill();
      assertThat(server.get("/observed/rule").statusCode()).isEqualTo(200);
    }
  }

  private static TestServer start(Map<String, Object> settings) {
    Map<String, Object> all = new java.util.HashMap<>(settings);
    for (String policy : new String[] {"rule", "argument", "duplicate", "waiting"}) {
      all.put("limiter.policies." + policy + ".observe", true);
    }
    return TestServer.start(SPEC, all);
  }
}
