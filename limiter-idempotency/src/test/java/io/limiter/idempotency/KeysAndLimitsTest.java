// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micrometer.core.instrument.MeterRegistry;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.ResponseFilter;
import io.micronaut.http.annotation.ServerFilter;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** Keys beside limits: who decides first, and what a caller costs that the limits deny. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class KeysAndLimitsTest {

  private static final String SPEC = "KeysAndLimitsTest";
  private static final String KEY = "Idempotency-Key";

  @Controller("/both")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    final AtomicInteger runs = new AtomicInteger();

    @Post("/gate")
    @Idempotent
    @RateRule(count = 1, time = 60)
    String gate() {
      return "run " + runs.incrementAndGet();
    }

    @Post("/arguments")
    @Idempotent
    @RateLimiter(rules = @RateRule(count = 1, time = 60, subject = "#{body}"))
    String arguments(@Body String body) {
      return "run " + runs.incrementAndGet();
    }

    @Post("/charged")
    @Idempotent(chargeRepetitions = true)
    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 3, time = 60))
    String charged(@Body String body) {
      return "run " + runs.incrementAndGet();
    }

    @Post("/path")
    @RateLimiter(rules = @RateRule(count = 1, time = 60, subject = "#{body}"))
    String path(@Body String body) {
      return "run " + runs.incrementAndGet();
    }
  }

  private IdempotentService server;

  @BeforeAll
  void start() {
    server =
        IdempotentService.start(
            SPEC,
            Map.of(
                "limiter.idempotency.anonymous-by-address",
                true,
                "limiter.idempotency.routes[0].path",
                "/both/path"));
  }

  @AfterAll
  void stop() {
    server.close();
  }

  @BeforeEach
  void clear() {
    server.clear();
    server.bean(Routes.class).runs.set(0);
  }

  private static String newKey() {
    return UUID.randomUUID().toString();
  }

  private java.net.http.HttpResponse<String> post(String route, String body, String key) {
    return server.post("/both/" + route, body, KEY, key);
  }

  private void assertOneRun() {
    assertThat(server.bean(Routes.class).runs).hasValue(1);
  }

  @Test
  void aDenialFreesTheKey() {
    for (String route : new String[] {"gate", "arguments", "path"}) {
      clear();
      String first = newKey();
      String second = newKey();
      assertThat(post(route, "a", first).body()).as(route).isEqualTo("run 1");
      assertThat(post(route, "a", second).statusCode()).as(route).isEqualTo(429);
      assertThat(post(route, "a", second).statusCode()).as(route).isEqualTo(429);
      assertThat(post(route, "a", first).body())
          .as("a repetition takes nothing")
          .isEqualTo("run 1");
      assertOneRun();
      server.clear(); // the limits, and the keys
      assertThat(post(route, "a", second).body()).as(route).isEqualTo("run 2");
    }
  }

  /** Who was denied is remembered, and a key is looked for without being claimed. */
  @Test
  void aDeniedCallerCostsOneRead() {
    // Of its own: other tests' commands would be counted.
    try (RedisProcess own = RedisProcess.onFreePort().start();
        IdempotentService service =
            IdempotentService.start(
                SPEC,
                Map.of(
                    "redis.uri", own.uri(),
                    "limiter.deny-cache.enabled", true, // the whole build runs without it, too
                    "limiter.idempotency.anonymous-by-address", true))) {
      RedisClient client = RedisClient.create(own.uri());
      try (StatefulRedisConnection<String, String> redis = client.connect()) {
        String first = newKey();
        assertThat(service.post("/both/gate", "", KEY, first).statusCode()).isEqualTo(200);
        assertThat(service.post("/both/gate", "", KEY, newKey()).statusCode()).isEqualTo(429);
        assertThat(service.post("/both/gate", "", KEY, first).body())
            .as("its end is stored")
            .isEqualTo("run 1");
        long[] before = {-1}; // until the key of the denied request is free, too
        await()
            .pollInterval(Duration.ofMillis(500))
            .until(() -> before[0] == (before[0] = calls(redis, "getrange")));
        long writes = calls(redis, "set");
        long reads = calls(redis, "getrange");
        for (int i = 0; i < 10; i++) {
          assertThat(service.post("/both/gate", "", KEY, newKey()).statusCode()).isEqualTo(429);
        }
        assertThat(calls(redis, "set") - writes).isZero();
        // The deny cache asks again about what is old.
        assertThat(calls(redis, "getrange") - reads).isBetween(10L, 12L);
      } finally {
        client.shutdown();
      }
    }
  }

  private static long calls(StatefulRedisConnection<String, String> redis, String command) {
    return redis
        .sync()
        .info("commandstats")
        .lines()
        .filter(line -> line.startsWith("cmdstat_" + command + ":calls="))
        .mapToLong(line -> Long.parseLong(line.replaceAll(".*:calls=(\\d+),.*", "$1")))
        .sum();
  }

  @Test
  void chargedRepetitionsAreCountedAlsoThoseOfAnotherRequest() {
    String key = newKey();
    assertThat(post("charged", "a", key).body()).isEqualTo("run 1");
    assertThat(post("charged", "a", key).body()).isEqualTo("run 1");
    assertThat(post("charged", "b", key).statusCode()).isEqualTo(422);
    assertThat(post("charged", "a", key).statusCode()).isEqualTo(429);
    assertOneRun();
  }

  @Controller("/refused")
  @Requires(property = "spec.name", value = "charged-arguments")
  static class ChargedByArguments {
    @Post
    @Idempotent(chargeRepetitions = true)
    @RateLimiter(rules = @RateRule(count = 3, time = 60, subject = "#{body}"))
    void charged(@Body String body) {}
  }

  @Test
  void limitsThatNeedArgumentsCannotChargeRepetitions() {
    org.assertj.core.api.Assertions.assertThatThrownBy(
            () -> IdempotentService.start("charged-arguments", Map.of()).close())
        .hasStackTraceContaining("chargeRepetitions needs limits that the gate decides");
  }

  @Controller("/noted")
  @Requires(property = "spec.name", value = "noted")
  static class Noted {
    @Post
    @Idempotent
    void noted() {}
  }

  @ServerFilter("/**")
  @Requires(property = "spec.name", value = "noted")
  static class Outermost {
    @ResponseFilter
    @Order(Ordered.HIGHEST_PRECEDENCE)
    void filter(MutableHttpResponse<?> response) {}
  }

  @Test
  void theStartNamesWhatWouldSurprise() {
    try (RecordedLog log = RecordedLog.of(IdempotentRoutes.class);
        IdempotentService service = IdempotentService.start("noted", Map.of())) {
      assertThat(log.messages())
          .anySatisfy(
              message ->
                  assertThat(message)
                      .contains("no request has a user", "KeysAndLimitsTest$Noted.noted()"))
          .anySatisfy(
              message ->
                  assertThat(message)
                      .contains("may change responses", "KeysAndLimitsTest$Outermost"));
      var anonymous = service.post("/noted", "", KEY, "1");
      assertThat(anonymous.statusCode()).isEqualTo(400);
      assertThat(anonymous.body()).contains("idempotency_key_anonymous");
    }
  }

  /** Nothing has decided, and that is what the response states. */
  @Test
  void withoutItsRedisARequestWithAKeyIsAnswered503() {
    try (IdempotentService service =
        IdempotentService.start(
            SPEC,
            Map.of(
                "redis.uri", "redis://127.0.0.1:1",
                "limiter.redis.start-timeout", "10ms",
                "limiter.headers.debug", true,
                "micronaut.metrics.enabled", true,
                "limiter.idempotency.anonymous-by-address", true))) {
      var answer = service.post("/both/gate", "", KEY, "1");
      assertThat(answer.statusCode()).isEqualTo(503);
      assertThat(answer.body()).contains("idempotency_unavailable");
      assertThat(answer.headers().map()).doesNotContainKey("x-decided-by");
      assertThat(
              service
                  .bean(MeterRegistry.class)
                  .get("limiter.idempotency")
                  .tag("result", "unavailable")
                  .counter()
                  .count())
          .isEqualTo(1);
      assertThat(service.bean(Routes.class).runs).hasValue(0);
    }
  }
}
