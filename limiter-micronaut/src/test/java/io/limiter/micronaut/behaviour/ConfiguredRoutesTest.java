// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.plan.LimitPolicies;
import io.limiter.micronaut.testing.HttpService;
import io.limiter.micronaut.testing.Sources;
import io.limiter.micronaut.testing.StatedCallers;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.PathVariable;
import io.micronaut.http.annotation.Post;
import java.net.http.HttpResponse;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Routes without annotations are limited by path, as the configuration has it. */
class ConfiguredRoutesTest {

  private static final String SPEC = "ConfiguredRoutesTest";

  private static final String YAML =
      """
      limiter:
        policies:
          api:
            limit-type: IP
            rules:
              - {count: 3, time: 60s}
              - {count: 20, time: 1h, algorithm: SLIDING_WINDOW_COUNTER}
              - {count: 20, time: 1s, token-bucket: {refill: 5}}
          other:
            rules: [{count: 1, time: 60s}]
            status: 503
            code: busy
            message: Come back later
        routes:
          - {path: "/c/free/**", methods: [GET], policy: api}
          - {path: "/c/missing/**", policy: api}
          - {path: "/files/**", policy: other}
          - {path: "/health", policy: api}
          - {path: "/c/annotated", policy: other}
          - {path: "/c/argument", policy: other}
      micronaut:
        router:
          static-resources:
            files:
              paths: classpath:io/limiter/micronaut/behaviour/files
              mapping: /files/**
      endpoints:
        health:
          sensitive: false
      """;

  @Controller("/c")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/free/{+path}")
    String free(@PathVariable String path) {
      return "ok";
    }

    @Post("/free/form")
    String form(@Body String text) {
      return "ok";
    }

    @Get("/Free/capital")
    String capital() {
      return "ok";
    }

    @Get("/annotated")
    @RateLimiter("annotated")
    @RateRule(count = 2)
    String annotated() {
      return "ok";
    }

    @Get("/argument{?who}")
    @RateLimiter(value = "argument", subject = "#{who}", rules = @RateRule(count = 2))
    String argument(String who) {
      return "ok";
    }
  }

  private static TestServer start(Object... more) {
    Map<String, Object> settings = new HashMap<>(Sources.yaml(YAML));
    settings.put("test.stated-callers", true);
    settings.putAll(HttpService.settings(more));
    return TestServer.start(SPEC, settings);
  }

  @Test
  void aPathIsLimitedByAllRulesOfItsPolicy() {
    try (TestServer server = start()) {
      HttpResponse<String> first = server.get("/c/free/1");
      assertThat(first.statusCode()).isEqualTo(200);
      assertThat(field(first, "RateLimit"))
          .contains("\"3-per-60s\";r=2", "\"20-per-3600s\";r=19", "\"20-at-5-per-1s\";r=19");
      assertThat(server.status("/c/free/2")).isEqualTo(200);
      assertThat(server.status("/c/free/3")).isEqualTo(200);
      HttpResponse<String> denied = server.get("/c/free/4");
      assertThat(denied.statusCode()).isEqualTo(429);
      assertThat(field(denied, "Retry-After")).isNotEmpty();
      assertThat(denied.body()).contains("/c/free/4");
      assertThat(server.status("/c/free/4", StatedCallers.ADDRESS, "192.0.2.9")).isEqualTo(200);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/c/free/x/",
        "/c/free//x",
        "/c//free/x",
        "//c/free/x",
        "/c/%66ree/x",
        "/c/free/%2e/x",
        "/c/./free/x",
        "/c/other/../free/x",
        "/c/free/x?a=b",
        "/c/free/x;a=b",
      })
  void noOtherSpellingOfAPathAvoidsTheLimit(String path) {
    try (TestServer server = start()) {
      for (int i = 0; i < 3; i++) {
        assertThat(server.status("/c/free/x")).isEqualTo(200);
      }
      // Where the router finds the method under this spelling, it is denied.
      assertThat(server.status(path)).isIn(429, 404);
      assertThat(server.status("/c/free/x")).isEqualTo(429);
    }
  }

  @Test
  void headCountsAsGetAndOtherMethodsDoNot() {
    try (TestServer server = start()) {
      assertThat(server.exchange("HEAD", "/c/free/x", "").statusCode()).isEqualTo(200);
      assertThat(server.status("/c/free/x")).isEqualTo(200);
      assertThat(server.exchange("HEAD", "/c/free/x", "").statusCode()).isEqualTo(200);
      assertThat(server.exchange("HEAD", "/c/free/x", "").statusCode()).isEqualTo(429);
      for (int i = 0; i < 5; i++) {
        assertThat(server.post("/c/free/form", "\"a\"").statusCode()).isEqualTo(200);
      }
      assertThat(server.status("/c/Free/capital")).isEqualTo(200);
    }
  }

  @Test
  void routesOfOthersAreLimited() {
    try (TestServer server = start(HttpService.AT_ROOT, true)) {
      assertThat(server.status("/health")).isEqualTo(200);
      assertThat(server.status("/c/missing/page")).isEqualTo(404);
      assertThat(server.status("/c/missing/page")).isEqualTo(404);
      assertThat(server.status("/c/missing/page")).isEqualTo(429);
      assertThat(server.status("/health")).isEqualTo(429);
    }
  }

  @Test
  void staticFilesAreLimited() {
    try (TestServer server = start()) {
      assertThat(server.get("/files/plain.txt").body()).isEqualTo("plain\n");
      HttpResponse<String> denied = server.get("/files/plain.txt");
      assertThat(denied.statusCode()).isEqualTo(503);
      assertThat(denied.body()).contains("busy", "Come back later");
    }
  }

  @ParameterizedTest
  @CsvSource({"/c/annotated, annotated", "/c/argument?who=a, argument"})
  void aRouteIsStackedOnAnnotations(String path, String policy) {
    try (TestServer server = start()) {
      HttpResponse<String> first = server.get(path);
      assertThat(first.statusCode()).isEqualTo(200);
      assertThat(field(first, "RateLimit")).contains("\"2-per-60s\";r=1", "\"1-per-60s\";r=0");
      HttpResponse<String> denied = server.get(path);
      assertThat(denied.statusCode()).isEqualTo(503);
      // All or nothing: the annotated rule has not counted the denied call.
      assertThat(field(denied, "RateLimit")).contains("\"2-per-60s\";r=1");
      assertThat(server.bean(LimitPolicies.class).names()).contains(policy, "api", "other");
    }
  }

  @Test
  void aRouteNeedsTheGate() {
    Map<String, Object> settings = new HashMap<>(Sources.yaml(YAML));
    settings.put("limiter.gate.enabled", false);
    assertThatThrownBy(() -> TestServer.start(SPEC, settings).close())
        .hasMessageContaining("limiter.routes[0].path = /c/free/**")
        .hasMessageContaining("limiter.gate.enabled is false");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "limiter.routes[0].policy | nobodys | no policy of this name has rules: write them under limiter.policies.nobodys.rules",
        "limiter.routes[0].policy | annotated | this policy belongs to annotated methods",
        "limiter.routes[0].policy | aip | no policy of this name has rules; did you mean api? Else write them under limiter.policies.aip.rules",
        "limiter.routes[0].path | c/free | begins with a slash",
        "limiter.routes[0].path | /hooks/{partner} | a pattern has no variables: write /hooks/*",
        "limiter.routes[0].path | /hooks/:partner/:id | a pattern has no variables: write /hooks/*/*",
        "limiter.routes[0].path | /files/{path:.{1,9}} | a pattern has no variables: write /files/**",
        "limiter.routes[0].path | /a{/b} | a pattern has no variables: write /a/**",
        "limiter.routes[0].path | /a/{id}?x=1 | a pattern has no variables: write /a/*",
        "limiter.routes[0].path | /a?x=1 | a pattern has no query: write /a",
        "limiter.routes[0].path | /a{?x} | a pattern has no query: write /a",
        "limiter.routes[0].path | /a/{open | a pattern has no variables: write /a/**",
        "limiter.routes[0].except | /hooks/{partner} | a pattern has no variables: write /hooks/*",
        "limiter.routes[1].methods | FETCH | use some of CONNECT",
        "limiter.routes[0].pth | /x | a route has path, except, methods and policy",
      })
  void aMistakeInARouteStopsTheStart(String key, String value, String remedy) {
    Map<String, Object> settings = new HashMap<>(Sources.yaml(YAML));
    settings.put(key, value);
    assertThatThrownBy(() -> TestServer.start(SPEC, settings).close())
        .hasMessageContaining(key + " = " + value)
        .hasMessageContaining(remedy);
  }
}
