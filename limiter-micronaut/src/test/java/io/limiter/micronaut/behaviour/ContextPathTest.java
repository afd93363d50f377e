// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.settings;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.io.socket.SocketUtils;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.management.endpoint.annotation.Endpoint;
import io.micronaut.management.endpoint.annotation.Read;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A service whose routes, endpoints and other paths begin differently. */
class ContextPathTest {

  private static final String SPEC = "ContextPathTest";

  @Controller("/c")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/free/{name}")
    String free(String name) {
      return name;
    }

    @Get("/annotated")
    @RateLimiter("annotated")
    @RateRule(count = 1)
    String annotated() {
      return "ok";
    }
  }

  @Controller("/")
  @Requires(property = "spec.name", value = SPEC)
  static class Root {

    @Get
    String root() {
      return "ok";
    }
  }

  @Endpoint(id = "lookup", defaultSensitive = false)
  @Requires(property = "spec.name", value = SPEC)
  static class LookUp {

    @Read
    @RateLimiter("endpoint")
    @RateRule(count = 1)
    public String read() {
      return "found";
    }
  }

  private static TestServer start(Object... more) {
    Map<String, Object> all =
        settings(
            HttpService.AT_ROOT,
            true,
            "micronaut.server.context-path",
            "/shop",
            "endpoints.all.context-path",
            "/ops",
            "endpoints.health.sensitive",
            false,
            "limiter.policies.one.rules",
            List.of(Map.of("count", 1, "time", "60s")));
    all.putAll(settings(more));
    return TestServer.start(SPEC, all);
  }

  private static String statuses(HttpService server, String... paths) {
    List<String> statuses = new ArrayList<>();
    for (String path : paths) {
      statuses.add(String.valueOf(server.status(path)));
    }
    return String.join(" ", statuses);
  }

  @Test
  void annotatedMethodsAreLimitedThere() {
    try (TestServer server = start()) {
      assertThat(statuses(server, "/shop/c/annotated", "/shop/c/annotated")).isEqualTo("200 429");
      assertThat(statuses(server, "/ops/lookup", "/ops/lookup")).isEqualTo("200 429");
    }
  }

  @Test
  void aBlockedCallerIsBlockedOnEveryPath() {
    try (TestServer server = start("limiter.block.addresses", "127.0.0.1, ::1")) {
      assertThat(statuses(server, "/shop/c/free/x", "/outside", "/ops/health", "/"))
          .isEqualTo("403 403 403 403");
    }
  }

  /** A pattern is that of the path as requested, or of what follows the context path. */
  @ParameterizedTest
  @CsvSource({
    "/shop/c/free/**, /shop/c/free/x, 200 429",
    "/c/free/**, /shop/c/free/x, 200 429",
    "/c/*/x, /shop/c/free/x, 200 429",
    "/**, /shop/c/free/x, 200 429",
    "/**, /outside, 404 429",
    "/outside, /outside, 404 429",
    "/ops/health, /ops/health, 200 429",
    "/ops/**, /ops/health, 200 429",
    "/health, /ops/health, 200 200",
    "/shop/outside, /outside, 404 404",
    "/free/**, /shop/c/free/x, 200 200",
    "/, /shop, 200 429",
    "/, /shop/, 200 429",
    "/shop/, /shop, 200 429",
    "/, /shop/c/free/x, 200 200",
  })
  void aRouteIsLimitedByItsPathWithTheContextPathOrWithout(
      String pattern, String path, String statuses) {
    try (TestServer server =
        start("limiter.routes", List.of(Map.of("path", pattern, "policy", "one")))) {
      assertThat(statuses(server, path, path)).isEqualTo(statuses);
    }
  }

  @Test
  void aRouteThatAMethodAnswersHasTheLimitsOfBoth() {
    try (TestServer server =
        start(
            "limiter.policies.one.rules", List.of(Map.of("count", 5, "time", "60s")),
            "limiter.routes", List.of(Map.of("path", "/c/annotated", "policy", "one")))) {
      assertThat(server.get("/shop/c/annotated").headers().firstValue("RateLimit-Policy"))
          .hasValue("\"1-per-60s\";q=1;w=60, \"5-per-60s\";q=5;w=60");
    }
  }

  @Test
  void whatIsOnThePortOfEndpointsIsLimitedAndBlocked() {
    int port = SocketUtils.findAvailableTcpPort();
    try (TestServer server =
        start(
            "endpoints.all.port",
            port,
            "limiter.routes",
            List.of(Map.of("path", "/ops/health", "policy", "one")))) {
      HttpService endpoints = server.onPort(port);
      assertThat(statuses(endpoints, "/ops/lookup", "/ops/lookup")).isEqualTo("200 429");
      assertThat(statuses(endpoints, "/ops/health", "/ops/health")).isEqualTo("200 429");
    }
  }
}
