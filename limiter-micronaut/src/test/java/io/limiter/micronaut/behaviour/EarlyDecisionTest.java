// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.limiter.core.Verdict;
import io.limiter.core.testing.RedisFixture;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.LeakyBucket;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.Tiers;
import io.limiter.micronaut.call.AdmissionControl;
import io.limiter.micronaut.testing.HttpService;
import io.limiter.micronaut.testing.Sources;
import io.limiter.micronaut.testing.StatedCallers;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Rules that need only the request, decided before the body that other rules need is read. */
class EarlyDecisionTest {

  private static final String SPEC = "EarlyDecisionTest";

  private static final String BROKEN = "{\"item\":";
  private static final String ITEM_A = "{\"item\":\"a\"}";
  private static final String ITEM_B = "{\"item\":\"b\"}";

  private static final String ROUTE =
      """
      limiter:
        policies:
          addresses:
            early: true
            rules: [{count: 3, time: 60s}]
        routes:
          - {path: "/early/late", policy: addresses}
      """;

  private static final String TIERS =
      """
      limiter:
        tier-lookup: {headers: [X-Tier]}
        tiers:
          gold:
            tiered: {rules: {3-per-60s: {count: 5}, 2-per-60s: {count: 4}}}
            once: unlimited
            addresses: {rules: [{count: 5, time: 60s}, {count: 1, algorithm: concurrency-limit}]}
            late: {rules: {2-per-60s: {count: 5}}}
      """;

  @Controller("/early")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Post("/sync")
    @RateLimiter(value = "sync", early = true)
    @RateRule(count = 3)
    @RateRule(count = 2, subject = "#{order.get('item')}")
    String sync(@Body Map<String, String> order) {
      return "sync";
    }

    @Post("/stage")
    @RateLimiter(value = "stage", early = true)
    @RateRule(count = 3)
    @RateRule(count = 2, subject = "#{order.get('item')}")
    CompletionStage<String> stage(@Body Map<String, String> order) {
      return CompletableFuture.completedFuture("stage");
    }

    @Post("/mono")
    @RateLimiter(value = "mono", early = true)
    @RateRule(count = 3)
    @RateRule(count = 2, subject = "#{order.get('item')}")
    Mono<String> mono(@Body Map<String, String> order) {
      return Mono.just("mono");
    }

    @Post("/flux")
    @RateLimiter(value = "flux", early = true)
    @RateRule(count = 3)
    @RateRule(count = 2, subject = "#{order.get('item')}")
    Flux<String> flux(@Body Map<String, String> order) {
      return Flux.just("flux");
    }

    @Post("/late")
    @RateLimiter("late")
    @RateRule(count = 2, subject = "#{order.get('item')}")
    String late(@Body Map<String, String> order) {
      return "late";
    }

    @Post("/once")
    @RateLimiter(value = "once", early = true, preventDuplicate = true)
    @RateRule(count = 3)
    String once(@Body Map<String, String> order) {
      return "once";
    }

    @Post("/tiered")
    @RateLimiter(value = "tiered", early = true)
    @RateRule(count = 3)
    @RateRule(count = 2, subject = "#{order.get('item')}")
    String tiered(@Body Map<String, String> order) {
      return "tiered";
    }

    @Post("/paced")
    @RateLimiter(value = "paced", early = true)
    @RateRule(count = 9)
    @RateRule(
        count = 1,
        subject = "#{order.get('item')}",
        leakyBucket = @LeakyBucket(queue = 2, maxWait = 60))
    String paced(@Body Map<String, String> order) {
      return "paced";
    }
  }

  /** The tier that a caller states. */
  @Singleton
  @Requires(property = "limiter.tier-lookup.headers")
  @Requires(property = "spec.name", value = SPEC)
  static class StatedTiers implements Tiers {

    @Override
    public CompletionStage<String> of(HttpRequest<?> request) {
      return CompletableFuture.completedFuture(request.getHeaders().get("X-Tier"));
    }
  }

  @Controller("/mistake")
  @Requires(property = "test.mistake", value = "verdict-of-path")
  static class WithVerdictOfPath {

    @Post
    @RateRule(count = 2, subject = "#{order.get('item')}")
    String call(@Body Map<String, String> order, Verdict verdict) {
      return "verdict";
    }
  }

  private static HttpService start(Map<String, Object> more) {
    Map<String, Object> settings = new HashMap<>(Map.of("test.stated-callers", true));
    settings.putAll(more);
    return HttpService.start(SPEC, settings);
  }

  private static Map<String, Object> tiers() {
    Map<String, Object> settings = new HashMap<>(Sources.yaml(ROUTE));
    settings.putAll(Sources.yaml(TIERS));
    return settings;
  }

  private static Map<String, Object> redis() {
    return Map.of(
        "redis.uri",
        RedisFixture.uri(),
        "limiter.redis.key-prefix",
        "early:" + UUID.randomUUID().toString().substring(0, 8) + ':',
        "limiter.redis.deadline",
        "10s");
  }

  private static void assertFields(HttpResponse<String> response, String... fields) {
    assertThat(field(response, "RateLimit")).contains(fields);
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "stage", "mono", "flux"})
  void brokenBodiesCountAndAreDeniedOnBothInstances(String route) {
    Map<String, Object> redis = redis();
    try (HttpService one = start(redis);
        HttpService other = start(redis)) {
      for (int left = 2; left >= 0; left--) {
        HttpResponse<String> broken = one.post("/early/" + route, BROKEN);
        assertThat(broken.statusCode()).isEqualTo(400);
        assertFields(broken, "\"3-per-60s\";r=" + left);
      }
      assertThat(one.post("/early/" + route, BROKEN).statusCode()).isEqualTo(429);
      assertThat(other.post("/early/" + route, ITEM_A).statusCode()).isEqualTo(429);
      HttpResponse<String> elsewhere =
          other.post("/early/" + route, ITEM_A, StatedCallers.ADDRESS, "192.0.2.7");
      assertThat(elsewhere.statusCode()).isEqualTo(200);
      assertFields(elsewhere, "\"3-per-60s\";r=2", "\"2-per-60s\";r=1");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "stage", "mono", "flux"})
  void theSecondDecisionGivesTheUnitsOfTheFirstBack(String route) {
    String path = "/early/" + route;
    try (HttpService service = start(redis())) {
      assertThat(service.post(path, ITEM_A).statusCode()).isEqualTo(200);
      assertFields(service.post(path, ITEM_A), "\"3-per-60s\";r=1", "\"2-per-60s\";r=0");
      HttpResponse<String> denied = service.post(path, ITEM_A);
      assertThat(denied.statusCode()).isEqualTo(429);
      assertFields(denied, "\"2-per-60s\";r=0");

      await()
          .untilAsserted(
              () -> {
                HttpResponse<String> admitted = service.post(path, ITEM_B);
                assertThat(admitted.statusCode()).isEqualTo(200);
                assertFields(admitted, "\"3-per-60s\";r=0", "\"2-per-60s\";r=1");
              });
      // The address is over its limit, so no unit of the item is taken.
      assertThat(service.post(path, ITEM_B).statusCode()).isEqualTo(429);
      assertFields(
          service.post(path, ITEM_B, StatedCallers.ADDRESS, "192.0.2.7"),
          "\"3-per-60s\";r=2",
          "\"2-per-60s\";r=0");
    }
  }

  @Test
  void aPolicyOfPathsIsDecidedBeforeTheBodyOfAMethodWithArguments() {
    Map<String, Object> settings = new HashMap<>(Sources.yaml(ROUTE));
    settings.putAll(redis());
    try (HttpService one = start(settings);
        HttpService other = start(settings)) {
      assertFields(one.post("/early/late", ITEM_A), "\"3-per-60s\";r=2", "\"2-per-60s\";r=1");
      assertThat(other.post("/early/late", BROKEN).statusCode()).isEqualTo(400);
      assertThat(one.post("/early/late", BROKEN).statusCode()).isEqualTo(400);
      assertThat(other.post("/early/late", BROKEN).statusCode()).isEqualTo(429);
    }
    try (HttpService service = start(Sources.yaml(ROUTE.replace("early: true", "early: false")))) {
      for (int call = 0; call < 5; call++) {
        assertThat(service.post("/early/late", BROKEN).statusCode()).isEqualTo(400);
      }
    }
  }

  @Test
  void aDuplicateGivesTheUnitsBack() {
    try (HttpService service = start(redis())) {
      assertThat(service.post("/early/once", ITEM_A).statusCode()).isEqualTo(200);
      for (int call = 0; call < 5; call++) {
        assertThat(service.post("/early/once", ITEM_A).statusCode()).isIn(409, 429);
      }
      await()
          .untilAsserted(
              () -> assertThat(service.post("/early/once", ITEM_B).statusCode()).isEqualTo(200));
      assertFields(service.post("/early/once", "{\"item\":\"c\"}"), "\"3-per-60s\";r=0");
    }
  }

  @Test
  void bothDecisionsAreThoseOfTheTier() {
    try (HttpService service = start(tiers())) {
      assertFields(service.post("/early/tiered", ITEM_A), "\"3-per-60s\";r=2", "\"2-per-60s\";r=1");
      assertFields(
          service.post("/early/tiered", ITEM_A, "X-Tier", "gold"),
          "\"5-per-60s\";r=3",
          "\"4-per-60s\";r=2");
    }
  }

  @Test
  void whatOnlyATierHasIsDecidedToo() {
    try (HttpService service = start(tiers())) {
      HttpResponse<String> admitted = service.post("/early/late", ITEM_A, "X-Tier", "gold");
      assertThat(field(admitted, "RateLimit-Policy"))
          .contains("\"5-per-60s\";q=5", "\"5-per-60s-2\";q=5", "concurrent-requests");
      for (String item : List.of("a", "b", "c", "d", "e")) {
        String order = "{\"item\":\"%s\"}".formatted(item);
        assertThat(service.post("/early/once", order, "X-Tier", "gold").statusCode())
            .isEqualTo(200);
      }
      assertThat(service.post("/early/once", ITEM_A, "X-Tier", "gold").statusCode()).isEqualTo(409);
    }
  }

  @Test
  void aCallThatLeavesTheQueueHasBeenCounted() throws IOException {
    try (HttpService service = start(redis())) {
      assertFields(service.post("/early/paced", ITEM_A), "\"9-per-60s\";r=8");
      String request =
          "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %s\r\n\r\n%s"
              .formatted(HttpService.path("/early/paced"), ITEM_A.length(), ITEM_A);
      try (Socket leaving = service.openWith(request)) {
        await().until(() -> service.bean(AdmissionControl.class).waiting() == 1);
      }

      await().until(() -> service.bean(AdmissionControl.class).waiting() == 0);
      assertFields(service.post("/early/paced", ITEM_B), "\"9-per-60s\";r=6");
    }
  }

  @Controller("/mistake")
  @Requires(property = "test.mistake", value = "verdict")
  static class WithVerdict {

    @Post
    @RateLimiter(early = true)
    @RateRule(count = 3)
    @RateRule(count = 2, subject = "#{order.get('item')}")
    String call(@Body Map<String, String> order, Verdict verdict) {
      return "verdict";
    }
  }

  @Controller("/mistake")
  @Requires(property = "test.mistake", value = "none")
  static class WithNone {

    @Post
    @RateLimiter(early = true, rules = @RateRule(subject = "#{order.get('item')}"))
    String call(@Body Map<String, String> order) {
      return "none";
    }
  }

  @Singleton
  @Requires(property = "test.mistake", value = "bean")
  static class NoRoute {

    @RateLimiter(early = true, limitType = LimitType.GLOBAL, rules = @RateRule)
    String call() {
      return "bean";
    }
  }

  @Controller("/mistake")
  @Requires(property = "test.mistake", value = "in-flight")
  static class InFlight {

    @Post
    @RateLimiter(early = true)
    @RateRule(count = 3, algorithm = Algorithm.CONCURRENCY_LIMIT)
    @RateRule(count = 2, subject = "#{order.get('item')}")
    String call(@Body Map<String, String> order) {
      return "in flight";
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "verdict   | true  | the method has a parameter for the verdict",
        "none      | true  | none of its rules can be decided before the body is read",
        "in-flight | true  | none of its rules can be decided before the body is read",
        "bean      | true  | only routes have a body",
        "gate      | false | with limiter.gate.enabled = false",
      })
  void aPolicyForWhichThereIsNoEarlyDecisionIsRejected(String mistake, boolean gate, String why) {
    Map<String, Object> settings = Map.of("test.mistake", mistake, "limiter.gate.enabled", gate);
    assertThatThrownBy(() -> start(settings).close())
        .hasStackTraceContaining("@RateLimiter.early = true")
        .hasStackTraceContaining(why);
  }

  @Test
  void anEarlyPolicyOfAPathWhoseMethodTakesTheVerdictIsRejected() {
    Map<String, Object> settings =
        new HashMap<>(Sources.yaml(ROUTE.replace("/early/late", "/mistake")));
    settings.put("test.mistake", "verdict-of-path");
    assertThatThrownBy(() -> start(settings).close())
        .hasStackTraceContaining("limiter.routes[0].path = /mistake in ")
        .hasStackTraceContaining(
            "one is early and the other has a parameter for the verdict, which is one decision");
  }
}
