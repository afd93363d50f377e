// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Of Micronaut's endpoints the demo serves {@code /health} and {@code /prometheus}, to all. */
class DemoEndpointsTest {

  private static final String USER =
      "Basic " + Base64.getEncoder().encodeToString("ann:ann".getBytes(StandardCharsets.UTF_8));

  @Test
  void prometheusHasTheDecisionsAndTheRequestsAlsoThoseThatTheGateAnswered() {
    try (Demo demo = new Demo(Demo.newService(), Map.of("limiter.deny-cache.enabled", false))) {
      for (int i = 0; i < 12; i++) {
        demo.get("/articles");
      }

      HttpResponse<String> scrape = demo.get("/prometheus");

      String decisions =
          "limiter_decisions_total{decided_by=\"store\",outcome=\"%s\",policy=\"io.limiter.demo.ArticleController.list()\",rule=\"%s\"} %s";
      assertThat(scrape.statusCode()).isEqualTo(200);
      assertThat(scrape.body().lines())
          .contains(decisions.formatted("allowed", "none", "10.0"))
          .contains(decisions.formatted("limited", "10-per-60s", "2.0"))
          .contains("limiter_store_seconds_count{outcome=\"decided\"} 12");
      assertThat(scrape.body())
          .contains("status=\"429\",uri=\"/articles\"} 2\n")
          .doesNotContain("127.0.0.1\"");
    }
  }

  @Test
  void healthShowsTheDetailsOfTheLimiter() {
    try (Demo demo = Demo.start()) {
      HttpResponse<String> health = demo.get("/health");

      assertThat(health.statusCode()).isEqualTo(200);
      assertThat(health.body())
          .contains("\"limiter\":{", "\"answers\":true,\"breaker\":\"closed\"", "\"TIMEOUT\":0")
          .doesNotContain("\"DOWN\"");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"/beans", "/env", "/info", "/loggers", "/metrics", "/routes", "/stop"})
  void othersAreNotServedToUsersEither(String endpoint) {
    try (Demo demo = Demo.start()) {
      assertThat(demo.get(endpoint).statusCode()).isEqualTo(404);
      assertThat(demo.get(endpoint, "Authorization", USER).statusCode()).isEqualTo(404);
    }
  }
}
