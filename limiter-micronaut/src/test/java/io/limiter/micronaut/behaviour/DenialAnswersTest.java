// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static io.limiter.micronaut.testing.HttpService.path;
import static io.limiter.micronaut.testing.Json.json;
import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The response to a denied call, and how configuration changes it. */
class DenialAnswersTest {

  static final String HTML = "text/html,application/xhtml+xml,*/*;q=0.8";

  @Test
  void theDefaultIsTheApplicationsFormatWithTheCodeAsItsLogref() {
    try (TestServer server = start(Map.of())) {
      HttpResponse<String> denied = second(server, "GET", "/denials/limited");

      assertThat(denied.statusCode()).isEqualTo(429);
      assertThat(field(denied, "Content-Type")).isEqualTo("application/json");
      assertThat(json(denied.body()))
          .isEqualTo(
              json(
                  """
              {"message":"Too Many Requests","logref":"rate_limited","_links":{"self":{"href":"%s","templated":false}},"_embedded":{"errors":[{"message":"Too many requests, try again later"}]}}"""
                      .formatted(path("/denials/limited"))));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"/denials/message", "/denials/message-by-argument?who=a"})
  void aMessageOfTheAnnotationMayHaveAnyScript(String path) {
    try (TestServer server = start(Map.of())) {
      HttpResponse<String> denied = second(server, "GET", path);

      assertThat(denied.statusCode()).isEqualTo(429);
      assertThat(denied.body())
          .contains("\"errors\":[{\"message\":\"" + DenialRoutes.MESSAGE + "\"}]");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"application", "problem", "template"})
  void aBrowserGetsAPageWhateverProgramsGet(String body) {
    Map<String, Object> settings = new LinkedHashMap<>(Map.of("limiter.denial.body", body));
    if (body.equals("template")) {
      settings.put("limiter.denial.template.msg", "{message}");
    }
    try (TestServer server = start(settings)) {
      server.get("/denials/message");
      HttpResponse<String> denied = server.get("/denials/message", "Accept", HTML);

      assertThat(denied.statusCode()).isEqualTo(429);
      assertThat(field(denied, "Content-Type")).startsWith("text/html");
      assertThat(denied.body()).startsWith("<!doctype html>").contains(DenialRoutes.MESSAGE);
      assertHeaders(denied);
      HttpResponse<String> program =
          server.get("/denials/message", "Accept", "text/html, application/json");
      assertThat(program.body()).startsWith("{").contains(DenialRoutes.MESSAGE);
    }
  }

  @Test
  void aProblemNamesTheQuotaAndThePoliciesThatDeny() {
    try (TestServer server = start(Map.of("limiter.denial.body", "problem"))) {
      HttpResponse<String> denied = second(server, "GET", "/denials/stack");

      assertThat(denied.statusCode()).isEqualTo(429);
      assertThat(field(denied, "Content-Type")).isEqualTo("application/problem+json");
      assertThat(denied.body())
          .isEqualTo(
              """
              {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded","status":429,"detail":"Too many requests, try again later","instance":"%s","code":"rate_limited","violated-policies":["burst","half-hour"]}"""
                  .formatted(path("/denials/stack")));
      assertThat(field(denied, "Retry-After")).as("the longest wait").matches("1800|17\\d\\d");
      assertThat(field(denied, "RateLimit-Policy"))
          .isEqualTo("\"burst\";q=1;w=60, \"sustained\";q=5;w=3600, \"half-hour\";q=1;w=1800");
      assertThat(field(denied, "RateLimit"))
          .matches(
              "\"burst\";r=0;t=(60|[345]\\d), \"sustained\";r=4;t=(3600|35\\d\\d), \"half-hour\";r=0;t=(1800|17\\d\\d)");
    }
  }

  @Test
  void aProblemOfADuplicateHasNoTypeOfItsOwn() {
    try (TestServer server = start(Map.of("limiter.denial.body", "problem"))) {
      HttpResponse<String> denied = second(server, "POST", "/denials/duplicate");

      assertThat(denied.statusCode()).isEqualTo(409);
      assertThat(field(denied, "Content-Type")).isEqualTo("application/problem+json");
      assertThat(denied.body())
          .isEqualTo(
              """
              {"type":"about:blank","title":"Conflict","status":409,"detail":"This request was already submitted","instance":"%s","code":"duplicate_submission"}"""
                  .formatted(path("/denials/duplicate")));
    }
  }

  @Test
  void aProblemHasTheMessageOfTheAnnotationAndNoBodyForHead() {
    try (TestServer server = start(Map.of("limiter.denial.body", "problem"))) {
      HttpResponse<String> denied = second(server, "GET", "/denials/message");
      HttpResponse<String> head = server.exchange("HEAD", "/denials/message", "");

      assertThat(denied.body()).contains("\"detail\":\"" + DenialRoutes.MESSAGE + "\"");
      assertThat(head.statusCode()).isEqualTo(429);
      assertThat(head.body()).isEmpty();
      assertHeaders(head);
    }
  }

  @Test
  void statusCodeAndMessageCanBeConfigured() {
    Map<String, Object> settings =
        Map.of(
            "limiter.denial.status", 503,
            "limiter.denial.code", "busy",
            "limiter.denial.message", "Später wieder",
            "limiter.denial.duplicate-status", 425,
            "limiter.denial.duplicate-code", "again",
            "limiter.denial.duplicate-message", "Schon da");
    try (TestServer server = start(settings)) {
      HttpResponse<String> denied = second(server, "GET", "/denials/limited");
      HttpResponse<String> duplicate = second(server, "POST", "/denials/duplicate");

      assertThat(denied.statusCode()).isEqualTo(503);
      assertThat(denied.body())
          .contains("\"logref\":\"busy\"", "\"errors\":[{\"message\":\"Später wieder\"}]");
      assertHeaders(denied);
      assertThat(duplicate.statusCode()).isEqualTo(425);
      assertThat(duplicate.body())
          .contains("\"logref\":\"again\"", "\"errors\":[{\"message\":\"Schon da\"}]");
    }
  }

  @Test
  void theMessageOfTheAnnotationGoesBeforeTheConfiguredOne() {
    try (TestServer server = start(Map.of("limiter.denial.message", "configured"))) {
      assertThat(second(server, "GET", "/denials/message").body())
          .contains(DenialRoutes.MESSAGE)
          .doesNotContain("configured");
    }
  }

  /** Micronaut names few of these statuses: the others are no reason to fail. */
  @ParameterizedTest
  @CsvSource({
    "400, application", "446, application", "498, application", "599, application",
    "400, problem", "446, problem", "498, problem", "599, problem",
    "400, template", "446, template", "498, template", "599, template"
  })
  void everyStatusReachesDeniedCallers(int status, String body) {
    Map<String, Object> settings = new LinkedHashMap<>();
    settings.put("limiter.denial.status", status);
    settings.put("limiter.denial.duplicate-status", status);
    settings.put("limiter.denial.body", body);
    if (body.equals("template")) {
      settings.put("limiter.denial.template.error", "no");
    }
    try (TestServer server = start(settings)) {
      HttpResponse<String> denied = second(server, "GET", "/denials/limited");
      HttpResponse<String> duplicate = second(server, "POST", "/denials/duplicate");

      assertThat(List.of(denied.statusCode(), duplicate.statusCode())).containsOnly(status);
      assertThat(List.of(denied.body(), duplicate.body())).doesNotContain("");
      assertHeaders(denied);
    }
  }

  static TestServer start(Map<String, Object> settings) {
    Map<String, Object> all = new LinkedHashMap<>(settings);
    all.put(DenialRoutes.ENABLED, true);
    return TestServer.start("Denials", all);
  }

  static HttpResponse<String> second(TestServer server, String method, String path) {
    assertThat(server.exchange(method, path, "").statusCode()).isEqualTo(200);
    return server.exchange(method, path, "");
  }

  static void assertHeaders(HttpResponse<String> denied) {
    assertThat(field(denied, "RateLimit-Policy")).isEqualTo("\"1-per-60s\";q=1;w=60");
    assertThat(field(denied, "RateLimit")).matches("\"1-per-60s\";r=0;t=(60|[345]\\d)");
    assertThat(field(denied, "Retry-After")).matches("60|[345]\\d");
    assertThat(field(denied, "Cache-Control")).isEqualTo("no-store");
  }
}
