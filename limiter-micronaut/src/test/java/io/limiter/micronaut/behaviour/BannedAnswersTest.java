// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static io.limiter.micronaut.testing.HttpService.path;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.exception.CallerBannedException;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a caller who is banned is answered, and what an application can make of it. */
class BannedAnswersTest {

  @Test
  void aProblemIsAbnormalUsageOfTheRulesThatDeny() {
    try (TestServer server = start(Map.of("limiter.denial.body", "problem"))) {
      var banned = banned(server);

      assertThat(banned.statusCode()).isEqualTo(429);
      assertThat(field(banned, "Content-Type")).isEqualTo("application/problem+json");
      assertThat(banned.body())
          .isEqualTo(
              """
              {"type":"https://iana.org/assignments/http-problem-types#abnormal-usage-detected","title":"Abnormal Usage Detected","status":429,"detail":"Too many denied requests: access is blocked temporarily","instance":"%s","code":"banned","violated-policies":["1-per-60s"]}"""
                  .formatted(path("/bans/address")));
    }
  }

  @Test
  void statusCodeAndMessageAreThoseOfBansWhateverTheAnnotation() {
    Map<String, Object> settings =
        Map.of(
            "limiter.denial.banned-status", 403,
            "limiter.denial.banned-code", "go_away",
            "limiter.denial.banned-message", "Out for {banned} of {retryAfter} s");
    try (TestServer server = start(settings)) {
      var banned = banned(server);

      assertThat(banned.statusCode()).isEqualTo(403);
      assertThat(banned.body())
          .contains("\"logref\":\"go_away\"")
          .containsPattern("\"Out for (3600|35\\d\\d) of (3600|35\\d\\d) s\"");
    }
  }

  @Test
  void aTemplateContainsTheRestOfTheBan() {
    Map<String, Object> settings = new LinkedHashMap<>();
    settings.put("limiter.denial.body", "template");
    settings.put("limiter.denial.template.code", "{code}");
    settings.put("limiter.denial.template.banned", "{banned}");
    try (TestServer server = start(settings)) {
      server.get("/bans/address");
      assertThat(server.get("/bans/address").body())
          .as("not yet")
          .isEqualTo("{\"code\":\"rate_limited\",\"banned\":null}");

      assertThat(server.get("/bans/address").body())
          .matches("\\{\"code\":\"banned\",\"banned\":(3600|35\\d\\d)}");
    }
  }

  @ParameterizedTest
  @CsvSource({"zh-CN, 被拒绝的请求过多，已被暂时禁止访问", "zh-TW, 被拒絕的請求過多，已被暫時禁止存取"})
  void theMessageIsInTheLanguageOfTheRequest(String language, String message) {
    try (TestServer server = start(Map.of())) {
      banned(server);

      assertThat(server.get("/bans/address", "Accept-Language", language).body()).contains(message);
    }
  }

  @ParameterizedTest
  @CsvSource({"test.any, any: false true", "test.both, banned: PT"})
  void aHandlerOfDenialsHandlesBansUnlessItDistinguishesThem(String property, String expected) {
    try (TestServer server = start(Map.of(property, true))) {
      var banned = banned(server);

      assertThat(banned.statusCode()).isEqualTo(418);
      assertThat(banned.body()).startsWith(expected);
      assertThat(field(banned, "Retry-After")).as("ours").matches("3600|35\\d\\d");
    }
  }

  private static TestServer start(Map<String, Object> settings) {
    Map<String, Object> all = new LinkedHashMap<>(settings);
    all.put("limiter.fallback", "deny"); // so that it is Redis which decides
    return TestServer.start(BanRoutes.SPEC, all);
  }

  private static java.net.http.HttpResponse<String> banned(TestServer server) {
    for (int i = 0; i < 2; i++) {
      server.get("/bans/address");
    }
    return server.get("/bans/address");
  }

  @Controller("/any")
  @Requires(property = "test.any")
  static class Any {
    @Error(global = true)
    HttpResponse<String> denied(RateLimitExceededException denied) {
      return HttpResponse.<String>status(418, "Teapot")
          .body(
              "any: %s %s"
                  .formatted(denied.verdict().allowed(), denied.verdict().ban().isPresent()));
    }
  }

  @Controller("/both")
  @Requires(property = "test.both")
  static class Both {
    @Error(global = true)
    HttpResponse<String> denied(RateLimitExceededException denied) {
      return HttpResponse.<String>status(418, "Teapot").body("denied");
    }

    @Error(global = true)
    HttpResponse<String> banned(CallerBannedException banned) {
      return HttpResponse.<String>status(418, "Teapot").body("banned: " + banned.ban());
    }
  }
}
