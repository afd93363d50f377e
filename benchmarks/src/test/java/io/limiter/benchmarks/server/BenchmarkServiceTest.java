// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.benchmarks.server.BenchmarkService.Script;
import io.limiter.core.testing.RedisFixture;
import io.micronaut.runtime.server.EmbeddedServer;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The answers that generators expect, over a real Redis. */
class BenchmarkServiceTest {

  private static final String FIELD = "RateLimit";

  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private static EmbeddedServer shared;

  @BeforeAll
  static void start() {
    shared = start(Script.DECISION);
  }

  @AfterAll
  static void stop() {
    shared.close();
  }

  private static EmbeddedServer start(Script script) {
    return BenchmarkService.start(
        RedisFixture.uri(),
        "test:" + UUID.randomUUID().toString().substring(0, 8) + ":",
        script,
        Map.of(
            "micronaut.server.port",
            -1,
            // On a busy machine the default could end a decision, and memory would count it.
            "limiter.redis.deadline",
            "10s",
            "limiter.redis.warm-up",
            "10s"));
  }

  private HttpResponse<String> get(EmbeddedServer server, String path) throws Exception {
    return client.send(request(server, path), BodyHandlers.ofString());
  }

  private static HttpRequest request(EmbeddedServer server, String path) {
    return HttpRequest.newBuilder(server.getURI().resolve(path)).build();
  }

  private static Optional<String> limit(HttpResponse<?> answer) {
    return answer.headers().firstValue(FIELD);
  }

  /** Of the first rule. */
  private static String remaining(HttpResponse<?> answer) {
    return limit(answer).orElseThrow().replaceFirst("\"1000-per-60s\";r=([0-9]+);.*", "$1");
  }

  @ParameterizedTest
  @ValueSource(strings = {"/limited", "/limited-async", "/limited-call", "/limited-call-async"})
  void eachCallIsAnotherCallers(String path) throws Exception {
    for (int i = 0; i < 3; i++) {
      HttpResponse<String> answer = get(shared, path);
      assertThat(answer.statusCode()).isEqualTo(200);
      assertThat(answer.body()).isEqualTo("ok");
      assertThat(remaining(answer)).isEqualTo("999");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"/denied", "/denied-uncached"})
  void allButTheFirstAreDeniedInFull(String path) throws Exception {
    assertThat(get(shared, path).statusCode()).isEqualTo(200);
    for (int i = 0; i < 3; i++) {
      HttpResponse<String> answer = get(shared, path);
      assertThat(answer.statusCode()).isEqualTo(429);
      assertThat(answer.body()).contains("Too many requests");
      assertThat(limit(answer)).hasValueSatisfying(field -> assertThat(field).contains(";r=0;"));
      assertThat(answer.headers().firstValue("Retry-After")).isPresent();
    }
  }

  @Test
  void anUnlimitedRouteAsksNoStore() throws Exception {
    HttpResponse<String> answer = get(shared, "/plain");
    assertThat(answer.body()).isEqualTo("ok");
    assertThat(limit(answer)).isEmpty();
  }

  @Test
  void aScriptThatDoesNothingAdmitsEachCall() throws Exception {
    try (EmbeddedServer server = start(Script.NO_OP)) {
      for (int i = 0; i < 2; i++) {
        HttpResponse<String> unlimited = get(server, "/denied");
        assertThat(unlimited.statusCode()).isEqualTo(200);
      }
      assertThat(get(server, "/limited").statusCode()).isEqualTo(200);
      assertThat(limit(get(server, "/limited"))).isPresent();
      assertThat(get(server, "/fallbacks").body()).isEqualTo("0");
    }
  }
}
