// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.testing.RecordedLog;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.HttpAttributes;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.filter.ServerFilterPhase;
import java.security.Principal;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A limit for users that finds none counts addresses, and warns of it. */
@Tag("matrix")
class UnknownUsersTest {

  private static final String USER = "X-User";

  @AutoClose
  private final RecordedLog log = RecordedLog.of("io.limiter.micronaut.diagnostics.UserWarnings");

  @AutoClose private final RecordedLog late = RecordedLog.of("io.limiter.micronaut.http.LateUsers");

  @Controller("/users")
  @Requires(property = "spec.name", pattern = "UnknownUsersTest.*")
  static class Users {
    @Get
    @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule(count = 50, time = 60))
    String get() {
      return "ok";
    }
  }

  /** In Micronaut 4 a filter without an order runs last as well. */
  @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
  @Requires(property = "spec.name", value = "UnknownUsersTest.late")
  static class Late {
    @RequestFilter
    @Order(Ordered.LOWEST_PRECEDENCE)
    void logIn(HttpRequest<?> request) {
      UnknownUsersTest.logIn(request);
    }
  }

  @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
  @Requires(property = "spec.name", value = "UnknownUsersTest.early")
  static class Early {
    @RequestFilter
    @Order(39_000)
    void logIn(HttpRequest<?> request) {
      UnknownUsersTest.logIn(request);
    }
  }

  private static void logIn(HttpRequest<?> request) {
    String user = request.getHeaders().get(USER);
    if (user != null) {
      request.setAttribute(HttpAttributes.PRINCIPAL, (Principal) () -> user);
    }
  }

  @Test
  void aStartWithoutSecurityWarns() {
    try (TestServer server = TestServer.start("UnknownUsersTest.early")) {
      assertThat(server.port()).isPositive();
    }
    assertThat(log.lines())
        .singleElement()
        .asString()
        .startsWith("WARN micronaut-security is missing or disabled")
        .contains(
            ": 1 (",
            "whose order is 39250",
            "@Order(" + ServerFilterPhase.SECURITY.order() + ")",
            Users.class.getName() + ".get()");
  }

  @Test
  void aStartWithoutLimitsForUsersDoesNot() {
    try (TestServer server = TestServer.start("no users")) {
      assertThat(server.port()).isPositive();
    }
    assertThat(log.events()).isEmpty();
  }

  @Test
  void theFirstUserWhoIsKnownTooLateIsWarnedOf() {
    try (TestServer server = TestServer.start("UnknownUsersTest.late")) {
      assertThat(server.get("/users").statusCode()).isEqualTo(200);
      assertThat(late.events()).as("no user logs in").isEmpty();

      for (String user : List.of("ann", "bob", "ann")) {
        assertThat(server.get("/users", USER, user).statusCode()).isEqualTo(200);
      }
      assertThat(field(server.get("/users", USER, "eve"), "RateLimit"))
          .as("all are counted as one")
          .startsWith("\"50-per-60s\";r=45;");
    }
    assertThat(late.lines())
        .singleElement()
        .asString()
        .startsWith("WARN " + Users.class.getName() + ".get() counts users")
        .contains("at order 39250", "by its address", "@Order(39000)")
        .doesNotContain("ann", "127.0.0.1");
  }

  /** Where a filter sets them early, or around the method, before which all filters have run. */
  @ParameterizedTest
  @CsvSource({"early, true", "early, false", "late, false"})
  void usersWhoAreKnownInTimeAreNot(String filter, boolean gate) {
    try (TestServer server =
        TestServer.start("UnknownUsersTest." + filter, Map.of("limiter.gate.enabled", gate))) {
      assertThat(server.get("/users").statusCode()).isEqualTo(200);
      assertThat(field(server.get("/users", USER, "ann"), "RateLimit"))
          .startsWith("\"50-per-60s\";r=49;");
    }
    assertThat(late.events()).isEmpty();
  }
}
