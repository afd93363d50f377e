// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import io.limiter.core.testing.RecordedLog;
import io.limiter.idempotency.Idempotent;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.security.annotation.Secured;
import io.micronaut.security.rules.SecurityRule;
import java.net.http.HttpResponse;
import java.util.Base64;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The demo's limits that tell callers apart by who they say they are, and what stays open. */
class DemoCallersTest {

  private static final String ANN = basic("ann:ann");
  private static final String BOB = basic("bob:bob");
  private static final String PARTNERS = "[\"Harbour Tea\",\"Mill & Sons\"]";

  private final Demo demo = Demo.start();

  @AfterEach
  void close() {
    demo.close();
  }

  @Test
  void eachUserHasASeparateLimit() {
    for (int left = 2; left >= 0; left--) {
      assertAdmitted(me(ANN), "{\"name\":\"ann\"}", "\"3-per-10s\";r=" + left + ";");
    }
    HttpResponse<String> denied = me(ANN);
    assertDenied(denied, "\"3-per-10s\";r=0;");
    assertThat(header(denied, "RateLimit-Policy")).isEqualTo("\"3-per-10s\";q=3;w=10");

    for (int left = 2; left >= 0; left--) {
      assertAdmitted(me(BOB), "{\"name\":\"bob\"}", "\"3-per-10s\";r=" + left + ";");
    }
    assertDenied(me(BOB), "\"3-per-10s\";r=0;");
  }

  /** Filters of the application may change a body; those of the limiter's modules do not. */
  @Test
  void aDenialIsWrittenDirectlyAlsoWhereOtherModulesHaveFilters() {
    try (RecordedLog log = RecordedLog.ofDebug("io.limiter.micronaut.http.DirectDenials")) {
      for (int i = 0; i < 4; i++) {
        me(ANN);
      }
      assertThat(log.messages())
          .singleElement()
          .isEqualTo("Filters for whose requests the JSON mapper writes denials: []");
    }
  }

  @Controller("/keyed")
  @Requires(property = "spec.name", value = "DemoCallersTest.keyed")
  static class Keyed {
    @Post("/open")
    @Secured(SecurityRule.IS_ANONYMOUS)
    @Idempotent
    String open() {
      return "open";
    }

    @Post("/secured")
    @Secured(SecurityRule.IS_AUTHENTICATED)
    @Idempotent
    String secured() {
      return "secured";
    }
  }

  @Test
  void aStartNamesTheIdempotentRoutesThatAreOpenToCallersWithoutAUser() {
    try (RecordedLog log = RecordedLog.of("io.limiter.idempotency.IdempotentRoutes")) {
      new Demo(
              Demo.newService(),
              Map.of(
                  "spec.name",
                  "DemoCallersTest.keyed",
                  "limiter.idempotency.anonymous-by-address",
                  false))
          .close();
      assertThat(log.lines())
          .singleElement()
          .asString()
          .startsWith("WARN Routes are open to callers without a user, so each Idempotency-Key")
          .contains("Keyed.open(")
          .doesNotContain("Keyed.secured(");
    }
  }

  @Test
  void onlyWithoutSecurityAStartWarnsThatUsersAreUnknown() {
    try (RecordedLog log = RecordedLog.of("io.limiter.micronaut.diagnostics.UserWarnings")) {
      Demo.start().close();
      assertThat(log.events()).isEmpty();

      new Demo(Demo.newService(), Map.of("micronaut.security.enabled", false)).close();
      assertThat(log.events())
          .singleElement()
          .satisfies(
              line -> {
                assertThat(line.getLevel()).isEqualTo(Level.WARN);
                assertThat(line.getFormattedMessage()).contains("MeController.me(");
              });
    }
  }

  @Test
  void requestsWithoutAValidLogInAreNotCounted() {
    for (int i = 0; i < 5; i++) {
      assertUnauthorized(demo.get("/me"));
      assertUnauthorized(me(basic("ann:wrong")));
      assertUnauthorized(me(basic("stranger:ann")));
    }

    assertAdmitted(me(ANN), "{\"name\":\"ann\"}", "\"3-per-10s\";r=2;");
  }

  @Test
  void aBrowserIsAskedForThePassword() {
    assertUnauthorized(demo.get("/me", "Accept", "text/html,application/xhtml+xml,*/*;q=0.8"));
  }

  @Test
  void eachApiKeyHasALimitOfItsOwnAndStrangersOneByAddress() {
    for (String key : new String[] {"A", "B"}) {
      for (int left = 4; left >= 0; left--) {
        assertAdmitted(partners(key), PARTNERS, "\"5-per-10s\";r=" + left + ";");
      }
      assertDenied(partners(key), "\"5-per-10s\";r=0;");
    }

    for (int left = 1; left >= 0; left--) {
      assertAdmitted(demo.get("/partners"), PARTNERS, "\"2-per-10s\";r=" + left + ";");
    }
    assertDenied(demo.get("/partners"), "\"2-per-10s\";r=0;");
    assertThat(header(demo.get("/partners"), "RateLimit-Policy"))
        .isEqualTo("\"2-per-10s\";q=2;w=10");
  }

  @Test
  void anEmptyApiKeyIsNone() {
    assertAdmitted(partners(""), PARTNERS, "\"2-per-10s\";r=1;");
    assertAdmitted(demo.get("/partners"), PARTNERS, "\"2-per-10s\";r=0;");
    assertDenied(partners(""), "\"2-per-10s\";r=0;");
  }

  @ParameterizedTest
  @ValueSource(strings = {"ann:ann", "ann:wrong", "stranger:nothing", ":"})
  void unsecuredRoutesAreOpenWithAnyCredentials(String credentials) {
    HttpResponse<String> free = demo.get("/health-free", "Authorization", basic(credentials));
    assertThat(free.statusCode()).isEqualTo(200);
    assertThat(free.body()).isEqualTo("{\"status\":\"UP\"}");

    HttpResponse<String> limited = demo.get("/articles", "Authorization", basic(credentials));
    assertThat(limited.statusCode()).isEqualTo(200);
    assertThat(demo.get("/articles").headers().firstValue("RateLimit"))
        .as("counted by address, logged in or not")
        .hasValueSatisfying(field -> assertThat(field).startsWith("\"10-per-60s\";r=8;"));
  }

  /** By itself, security would reject the second for its two slashes, and bring the last. */
  @ParameterizedTest
  @ValueSource(strings = {"/nothing", "//nothing", "/logout", "/token_info"})
  void anUnknownPathIsNotFound(String path) {
    HttpResponse<String> answer = demo.get(path);

    assertThat(answer.statusCode()).isEqualTo(404);
    assertThat(answer.body()).contains("\"message\":\"Page Not Found\"");
    assertThat(answer.headers().map()).doesNotContainKey("www-authenticate");
    assertThat(demo.get(path, "Authorization", ANN).statusCode()).isEqualTo(404);
  }

  private HttpResponse<String> me(String authorization) {
    return demo.get("/me", "Authorization", authorization);
  }

  private HttpResponse<String> partners(String key) {
    return demo.get("/partners", "X-Api-Key", key);
  }

  private static void assertAdmitted(HttpResponse<String> answer, String body, String field) {
    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(answer.body()).isEqualTo(body);
    assertThat(header(answer, "RateLimit")).startsWith(field);
  }

  private static void assertDenied(HttpResponse<String> answer, String field) {
    assertThat(answer.statusCode()).isEqualTo(429);
    assertThat(header(answer, "RateLimit")).startsWith(field);
    assertThat(Long.parseLong(header(answer, "Retry-After"))).isBetween(1L, 10L);
  }

  private static void assertUnauthorized(HttpResponse<String> answer) {
    assertThat(answer.statusCode()).isEqualTo(401);
    assertThat(header(answer, "WWW-Authenticate")).startsWith("Basic ");
    assertThat(answer.headers().map()).doesNotContainKeys("ratelimit", "ratelimit-policy");
  }

  private static String header(HttpResponse<?> answer, String name) {
    return answer.headers().firstValue(name).orElse("");
  }

  private static String basic(String credentials) {
    return "Basic " + Base64.getEncoder().encodeToString(credentials.getBytes(UTF_8));
  }
}
