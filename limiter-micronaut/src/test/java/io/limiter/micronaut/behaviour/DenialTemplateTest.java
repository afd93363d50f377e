// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.behaviour.DenialAnswersTest.assertHeaders;
import static io.limiter.micronaut.behaviour.DenialAnswersTest.second;
import static io.limiter.micronaut.testing.HttpService.field;
import static io.limiter.micronaut.testing.HttpService.path;
import static io.limiter.micronaut.testing.Sources.yaml;
import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;

/** A body of the application's own fields, as it was written. */
class DenialTemplateTest {

  private static final String HOUSE =
      """
      limiter:
        denial:
          body: template
          template:
            code: "{code}"
            msg: "{message}"
            ok: false
            version: 2
            data:
              retryAfter: "{retryAfter}"
              rules: "{violated}"
      """;

  private static final String EVERYTHING =
      """
      limiter:
        denial:
          body: template
          template:
            httpStatus: "{status}"
            title: "{title}"
            policy: "{policy}"
            violated: "{violated}"
            limit: "{limit}"
            remaining: "{remaining}"
            window: "{window}"
            request: "{method} {path}"
            text: "{{limit}} is {limit}, of [{violated}], wait {retryAfter}."
            rows: [1.50, null, true, ["{code}", {inner_Name: "{status}"}]]
            none: {}
      """;

  @Test
  void itHasTheNamesOrderAndTypesThatWereWritten() {
    try (TestServer server = start(HOUSE)) {
      HttpResponse<String> denied = second(server, "GET", "/denials/limited");

      assertThat(denied.statusCode()).isEqualTo(429);
      assertThat(field(denied, "Content-Type")).isEqualTo("application/json");
      assertHeaders(denied);
      assertThat(denied.body())
          .isEqualTo(
              """
              {"code":"rate_limited","msg":"Too many requests, try again later","ok":false,"version":2,"data":{"retryAfter":%s,"rules":["1-per-60s"]}}"""
                  .formatted(field(denied, "Retry-After")));
    }
  }

  @Test
  void theRuleWithTheLongestWaitFillsTheTemplate() {
    try (TestServer server = start(EVERYTHING)) {
      HttpResponse<String> denied = second(server, "GET", "/denials/stack");

      assertThat(denied.body())
          .isEqualTo(
              """
              {"httpStatus":429,"title":"Too Many Requests","policy":"%s.stack()","violated":["burst","half-hour"],"limit":1,"remaining":0,"window":1800,"request":"GET %s","text":"{limit} is 1, of [burst, half-hour], wait %s.","rows":[1.5,null,true,["rate_limited",{"inner_Name":429}]],"none":{}}"""
                  .formatted(
                      DenialRoutes.class.getName(),
                      path("/denials/stack"),
                      field(denied, "Retry-After")));
    }
  }

  @Test
  void aDuplicateHasTheRuleOfItsGuardAndNothingToWaitFor() {
    try (TestServer server = start(EVERYTHING)) {
      HttpResponse<String> denied = second(server, "POST", "/denials/duplicate");

      assertThat(denied.statusCode()).isEqualTo(409);
      assertThat(denied.body())
          .contains(
              "\"httpStatus\":409,\"title\":\"Conflict\"",
              "\"violated\":[],\"limit\":1,\"remaining\":0,\"window\":60",
              "\"text\":\"{limit} is 1, of [], wait .\"",
              "[\"duplicate_submission\",");
    }
    try (TestServer server = start(HOUSE)) {
      assertThat(second(server, "POST", "/denials/duplicate").body())
          .isEqualTo(
              """
              {"code":"duplicate_submission","msg":"This request was already submitted","ok":false,"version":2,"data":{"retryAfter":null,"rules":[]}}""");
    }
  }

  @Test
  void resetTimeAndTimestampAreAvailable() {
    String clock =
        "limiter: {denial: {body: template, template: {reset: \"{reset}\", at: \"{timestamp}\"}}}";
    try (TestServer server = start(clock)) {
      HttpResponse<String> denied = second(server, "GET", "/denials/limited");

      assertThat(denied.body())
          .matches(
              "\\{\"reset\":"
                  + field(denied, "Retry-After")
                  + ",\"at\":\"2\\d{3}-\\d\\d-\\d\\dT.*Z\"}");
      Instant at = Instant.parse(denied.body().replaceAll(".*\"at\":\"(.*)\"}", "$1"));
      assertThat(Duration.between(at, Instant.now()))
          .isBetween(Duration.ZERO, Duration.ofMinutes(1));
      assertThat(second(server, "POST", "/denials/duplicate").body())
          .matches("\\{\"reset\":(60|5\\d),.*");
    }
  }

  @Test
  void itHasTheMessageOfTheAnnotationAndNoBodyForHead() {
    try (TestServer server = start(HOUSE)) {
      HttpResponse<String> denied = second(server, "GET", "/denials/message");
      HttpResponse<String> head = server.exchange("HEAD", "/denials/message", "");

      assertThat(denied.body()).contains("\"msg\":\"" + DenialRoutes.MESSAGE + "\"");
      assertThat(head.statusCode()).isEqualTo(429);
      assertThat(head.body()).isEmpty();
      assertHeaders(head);
    }
  }

  private static TestServer start(String settings) {
    return DenialAnswersTest.start(yaml(settings));
  }
}
