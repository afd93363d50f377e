// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.Sources;
import io.limiter.micronaut.testing.StatedCallers;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** All that configuration can do, in one file. */
class LimitsFromYamlTest {

  private static final String SPEC = "LimitsFromYamlTest";

  private static final String YAML =
      """
      limiter:
        policies:
          named: {rules: [{count: 2, time: 60s}]}
          login: {rules: {5-per-60s: {count: 8}}}
          disabled-one: {enabled: false}
          api:
            limit-type: IP
            rules: [{count: 3, time: 60s}, {count: 20, time: 1h, algorithm: SLIDING_WINDOW_COUNTER}, {count: 20, time: 1s, token-bucket: {refill: 5}}]
        routes:
          - {path: "/c/free/**", methods: [GET], policy: api}
        exempt: {addresses: ["192.0.2.0/24"], users: [monitor]}
        block: {addresses: ["203.0.113.7"]}
        tiers:
          default: free
          pro: {api: {rules: [{count: 300, time: 60s}]}}
          internal: {api: unlimited}
      """;

  @Controller("/c")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/named")
    @RateLimiter(value = "named", rules = @RateRule(count = 50))
    String named() {
      return "ok";
    }

    @Get("/login")
    @RateLimiter(value = "login", rules = @RateRule(count = 5))
    String login() {
      return "ok";
    }

    @Get("/disabled")
    @RateLimiter(value = "disabled-one", rules = @RateRule(count = 1), preventDuplicate = true)
    String disabled() {
      return "ok";
    }

    @Get("/free/page")
    String free() {
      return "ok";
    }
  }

  @Test
  void allOfItHolds() {
    Map<String, Object> settings = new HashMap<>(Sources.yaml(YAML));
    settings.put("test.stated-callers", true);
    try (TestServer server = TestServer.start(SPEC, settings)) {
      assertThat(admitted(server, "/c/named", "198.51.100.1")).isEqualTo(2);
      assertThat(admitted(server, "/c/login", "198.51.100.1")).isEqualTo(8);
      assertThat(admitted(server, "/c/disabled", "198.51.100.1")).isEqualTo(12);
      assertThat(admitted(server, "/c/free/page", "198.51.100.1")).isEqualTo(3);
      assertThat(admitted(server, "/c/free/page", "192.0.2.1")).isEqualTo(12);
      assertThat(server.status("/c/named", StatedCallers.ADDRESS, "203.0.113.7")).isEqualTo(403);
    }
  }

  private static int admitted(TestServer server, String path, String address) {
    int admitted = 0;
    while (admitted < 12 && server.status(path, StatedCallers.ADDRESS, address) == 200) {
      admitted++;
    }
    return admitted;
  }
}
