// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static io.limiter.micronaut.testing.HttpService.path;
import static io.limiter.micronaut.testing.Json.json;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.limiter.core.Outcome;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.exception.LimiterUnavailableException;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is answered while Redis is away and the fallback denies. */
class StoreAwayTest {

  private static final String APPLICATION =
      """
      {"message":"Service Unavailable","logref":"limiter_unavailable","_links":{"self":{"href":"%s","templated":false}},"_embedded":{"errors":[{"message":"The service is busy, try again in a moment"}]}}""";

  @AutoClose private final RedisProcess redis = RedisProcess.onFreePort().start();

  /** Limited without HTTP. */
  @Singleton
  @Requires(property = DenialRoutes.ENABLED)
  static class Plain {
    @RateLimiter(
        value = "plain",
        limitType = LimitType.GLOBAL,
        rules = @RateRule(count = 2, time = 60),
        message = "of limits")
    String call() {
      return "ok";
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void everyLimitedCallIsDeniedAndNoLimitIsBlamed(boolean gate) {
    try (TestServer server = deny(Map.of("limiter.gate.enabled", gate))) {
      assertThat(server.get("/denials/limited").statusCode()).isEqualTo(200);
      redis.kill();

      for (String path : new String[] {"/denials/limited", "/denials/message"}) {
        HttpResponse<String> denied = server.get(path);
        assertDenied(denied);
        assertThat(json(denied.body())).isEqualTo(json(APPLICATION.formatted(path(path))));
      }
      assertDenied(server.get("/denials/message-by-argument?who=a"));
      assertDenied(server.post("/denials/duplicate", ""));
      assertThat(server.exchange("HEAD", "/denials/stack", "").statusCode()).isEqualTo(503);

      redis.start();
      await()
          .atMost(Duration.ofSeconds(10))
          .until(() -> server.get("/denials/stack").statusCode() == 200);
      assertThat(server.post("/denials/duplicate", "").statusCode()).isEqualTo(200);
      assertThat(server.post("/denials/duplicate", "").statusCode()).isEqualTo(409);
    }
  }

  @Test
  void aProblemIsOfReducedCapacityAndNamesNoPolicy() {
    try (TestServer server = deny(Map.of("limiter.denial.body", "problem"))) {
      redis.kill();
      HttpResponse<String> denied = server.get("/denials/stack");

      assertDenied(denied);
      assertThat(field(denied, "Content-Type")).isEqualTo("application/problem+json");
      assertThat(denied.body())
          .isEqualTo(
              """
              {"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity","title":"Temporary Reduced Capacity","status":503,"detail":"The service is busy, try again in a moment","instance":"%s","code":"limiter_unavailable","violated-policies":[]}"""
                  .formatted(path("/denials/stack")));
    }
  }

  @Test
  void aTemplateHasNothingOfAnyRule() {
    Map<String, Object> settings = new LinkedHashMap<>(Map.of("limiter.denial.body", "template"));
    for (String name : "code violated retryAfter limit remaining window reset".split(" ")) {
      settings.put("limiter.denial.template." + name, "{" + name + "}");
    }
    try (TestServer server = deny(settings)) {
      redis.kill();

      assertThat(server.get("/denials/stack").body())
          .isEqualTo(
              """
              {"code":"limiter_unavailable","violated":[],"retryAfter":1,"limit":null,"remaining":null,"window":null,"reset":null}""");
    }
  }

  @Test
  void statusCodeAndMessageCanBeConfigured() {
    Map<String, Object> settings =
        Map.of(
            "limiter.denial.unavailable-status", 500,
            "limiter.denial.unavailable-code", "away",
            "limiter.denial.unavailable-message", "Komm in {retryAfter} s wieder");
    try (TestServer server = deny(settings)) {
      redis.kill();
      HttpResponse<String> denied = server.get("/denials/limited");

      assertThat(denied.statusCode()).isEqualTo(500);
      assertThat(denied.body()).contains("\"logref\":\"away\"", "\"Komm in 1 s wieder\"");
    }
  }

  @ParameterizedTest
  @CsvSource({"zh,服务繁忙，请稍后再试", "fr,'The service is busy, try again in a moment'"})
  void theMessageIsInTheLanguageOfTheRequest(String language, String message) {
    try (TestServer server = deny(Map.of())) {
      redis.kill();

      assertThat(server.get("/denials/limited", "Accept-Language", language).body())
          .contains(message);
    }
  }

  @Test
  void outsideOfHttpTheCallerGetsAnExceptionOfItsOwn() {
    try (TestServer server = deny(Map.of())) {
      Plain plain = server.bean(Plain.class);
      assertThat(plain.call()).isEqualTo("ok");
      redis.kill();

      assertThatThrownBy(plain::call)
          .isInstanceOf(LimiterUnavailableException.class)
          .isInstanceOf(LimitDeniedException.class)
          .hasMessage(
              "The limit of 'plain' cannot be checked, so the call is denied: the store does not answer (DISCONNECTED)")
          .satisfies(
              thrown ->
                  assertThat(((LimitDeniedException) thrown).verdict().outcome())
                      .isEqualTo(Outcome.UNAVAILABLE));
    }
  }

  @Test
  void byDefaultMemoryDecides() {
    try (TestServer server = start(Map.of())) {
      redis.kill();

      assertThat(server.get("/denials/limited").statusCode()).isEqualTo(200);
      assertThat(server.get("/denials/limited").statusCode()).isEqualTo(429);
    }
  }

  private static void assertDenied(HttpResponse<String> denied) {
    assertThat(denied.statusCode()).isEqualTo(503);
    // Until the store is asked again: after some denials, a second more or less by a fifth.
    assertThat(field(denied, "Retry-After")).isIn("1", "2");
    assertThat(field(denied, "Cache-Control")).isEqualTo("no-store");
    assertThat(denied.headers().map()).doesNotContainKeys("ratelimit", "ratelimit-policy");
  }

  private TestServer deny(Map<String, Object> settings) {
    Map<String, Object> all = new LinkedHashMap<>(settings);
    all.put("limiter.fallback", "deny");
    return start(all);
  }

  private TestServer start(Map<String, Object> settings) {
    Map<String, Object> all = new LinkedHashMap<>(settings);
    all.put("redis.uri", redis.uri());
    return DenialAnswersTest.start(all);
  }
}
