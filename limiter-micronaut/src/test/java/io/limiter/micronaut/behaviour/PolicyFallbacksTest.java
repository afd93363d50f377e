// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.Fallback;
import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.outage.FallbackCounts;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The fallback and the deadline can be configured for each policy. */
class PolicyFallbacksTest {

  private static final String SPEC = "PolicyFallbacksTest";

  /** What a deadline of 100 ms and the breaker leave a call, and as much for a busy machine. */
  private static final Duration SHORT = Duration.ofSeconds(5);

  @AutoClose private final RedisProcess redis = RedisProcess.onFreePort().start();

  @Controller("/policies")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {
    @Get("/login")
    @RateLimiter(value = "login", rules = @RateRule(count = 3, time = 3600))
    String login() {
      return "ok";
    }

    @Get("/feed")
    @RateLimiter(value = "Feed.v2", rules = @RateRule(count = 3, time = 3600))
    String feed() {
      return "ok";
    }

    @Get("/sms")
    @RateLimiter(value = "sms", rules = @RateRule(count = 3, time = 3600))
    String sms() {
      return "ok";
    }
  }

  @Factory
  @Requires(property = "spec.name", value = SPEC)
  static class FromCode {
    @Singleton
    Policy failures() {
      return Policy.of("login-failures", SlidingWindowLogRule.of(3, Duration.ofHours(1)));
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void eachPolicyHasItsOwnWhileRedisIsAwayAndNoneWhenItIsBack(boolean gate) {
    try (TestServer server = start(Map.of("limiter.gate.enabled", gate))) {
      assertThat(remaining(server.get("/policies/feed"))).isEqualTo("\"3-per-3600s\";r=2;t=3600");
      redis.kill();

      HttpResponse<String> denied = server.get("/policies/login");
      assertThat(denied.statusCode()).isEqualTo(503);
      for (int i = 0; i < 5; i++) {
        HttpResponse<String> allowed = server.get("/policies/feed");
        assertThat(allowed.statusCode()).isEqualTo(200);
        assertThat(allowed.headers().map()).doesNotContainKeys("ratelimit", "retry-after");
      }
      for (int i = 0; i < 3; i++) {
        assertThat(server.get("/policies/sms").statusCode()).isEqualTo(200);
      }
      assertThat(server.get("/policies/sms").statusCode()).isEqualTo(429);
      assertCounted(server);

      redis.start();
      await()
          .atMost(Duration.ofSeconds(10))
          .until(() -> server.get("/policies/login").statusCode() == 200);
      assertThat(server.get("/policies/sms").statusCode()).as("3 by memory").isEqualTo(429);
    }
  }

  private static void assertCounted(TestServer server) {
    FallbackCounts counts = server.bean(FallbackCounts.class);
    assertThat(counts.of(Fallback.DENY)).isEqualTo(1);
    assertThat(counts.of(Fallback.ALLOW)).isEqualTo(5);
    assertThat(counts.of(Fallback.LOCAL)).isEqualTo(4);
    assertThat(
            counts.of(FailureReason.DISCONNECTED)
                + counts.of(FailureReason.TIMEOUT)
                + counts.of(FailureReason.BREAKER_OPEN))
        .isEqualTo(10);
  }

  @Test
  void aPolicyOfCodesHasItsOwnToo() {
    try (TestServer server = start(Map.of())) {
      LimitRequest failure = LimitRequest.of(server.bean(Policy.class), new Subject("user", "ada"));
      Limiter limiter = server.bean(Limiter.class);
      redis.kill();

      Verdict verdict = limiter.peek(failure).toCompletableFuture().join();

      assertThat(verdict.outcome()).isEqualTo(Outcome.UNAVAILABLE);
      assertThat(verdict.decidedBy()).isEqualTo(DecidedBy.FALLBACK);
      assertThat(verdict.reason()).isPresent();
    }
  }

  @Test
  void aPolicyMayBeMoreImpatientThanTheOthers() {
    try (TestServer server =
        start(
            Map.of(
                "limiter.redis.deadline", "10s",
                "limiter.policies.sms.deadline", "100ms"))) {
      assertThat(server.get("/policies/sms").statusCode()).isEqualTo(200);
      redis.suspend();
      long before = System.nanoTime();

      assertThat(server.get("/policies/sms").statusCode()).isEqualTo(200);

      assertThat(Duration.ofNanos(System.nanoTime() - before)).isLessThan(SHORT);
      redis.resume();
    }
  }

  @Test
  void instancesShareALimitWhileMemoryDecides() {
    try (TestServer server = start(Map.of("limiter.memory.instances", 2))) {
      assertThat(field(server.get("/policies/sms"), "RateLimit-Policy"))
          .isEqualTo("\"3-per-3600s\";q=3;w=3600");
      redis.kill();

      HttpResponse<String> first = server.get("/policies/sms");
      assertThat(field(first, "RateLimit-Policy")).isEqualTo("\"3-per-3600s\";q=2;w=3600");
      assertThat(remaining(first))
          .as("2, of which 1 by Redis")
          .startsWith("\"3-per-3600s\";r=0;t=");
      assertThat(server.get("/policies/sms").statusCode()).isEqualTo(429);
    }
  }

  private static String remaining(HttpResponse<String> response) {
    return field(response, "RateLimit");
  }

  private TestServer start(Map<String, Object> settings) {
    Map<String, Object> all =
        new LinkedHashMap<>(
            Map.of(
                "redis.uri", redis.uri(),
                "limiter.redis.deadline", "1s",
                "limiter.policies.login.fallback", "deny",
                "limiter.policies.Feed.v2.fallback", "allow",
                "limiter.policies.login-failures.fallback", "deny"));
    all.putAll(settings);
    return TestServer.start(SPEC, all);
  }
}
