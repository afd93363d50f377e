// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.HttpService;
import io.limiter.micronaut.testing.RecordedDecisions;
import io.micronaut.context.annotation.Requires;
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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The subject of a request to a real server. */
class RequestSubjectsTest {

  private static final Subject LOOPBACK = new Subject("ip", "127.0.0.1");

  private static final Subject STRANGER = new Subject("anonymous", "user\n127.0.0.1");

  private final HttpService server =
      HttpService.start(
          "RequestSubjectsTest",
          Map.of("test.recorded", true, "micronaut.server.host", "127.0.0.1"));

  @AfterEach
  void close() {
    server.close();
  }

  @Test
  void anAddressIsThatOfTheConnectionWhateverHeadersSay() {
    assertThat(server.status("/by-address", "X-Forwarded-For", "198.51.100.1")).isEqualTo(200);
    assertThat(server.status("/by-address", "Forwarded", "for=198.51.100.2")).isEqualTo(429);

    assertThat(counted()).containsExactly(LOOPBACK, LOOPBACK);
  }

  @Test
  void aUserIsCountedByName() {
    assertThat(server.status("/by-user", "X-User", "ada")).isEqualTo(200);
    assertThat(server.status("/by-user", "X-User", "ada")).isEqualTo(429);
    assertThat(server.status("/by-user", "X-User", "bob")).isEqualTo(200);

    assertThat(counted())
        .containsExactly(
            new Subject("user", "ada"), new Subject("user", "ada"), new Subject("user", "bob"));
  }

  @Test
  void anAnonymousCallerIsCountedByAddress() {
    assertThat(server.status("/by-user")).isEqualTo(200);
    assertThat(server.status("/by-user")).isEqualTo(429);
    assertThat(server.status("/by-user", "X-User", "")).isEqualTo(429);

    assertThat(counted()).containsExactly(STRANGER, STRANGER, STRANGER);
  }

  @Test
  void aUserWhoIsCalledLikeAnAddressIsNotThatAddress() {
    assertThat(server.status("/by-user")).isEqualTo(200);
    assertThat(server.status("/by-user", "X-User", "127.0.0.1")).isEqualTo(200);
  }

  @Test
  void everybodyIsCountedTogether() {
    assertThat(server.status("/by-all", "X-User", "ada")).isEqualTo(200);
    assertThat(server.status("/by-all", "X-User", "bob")).isEqualTo(429);

    assertThat(counted()).containsExactly(Subject.global(), Subject.global());
  }

  /** Subjects are hashed in keys, so they are compared by their keys. */
  private List<Subject> counted() {
    List<Subject> known =
        List.of(
            LOOPBACK,
            STRANGER,
            Subject.global(),
            new Subject("user", "ada"),
            new Subject("user", "bob"));
    return server.bean(RecordedDecisions.class).requests().stream()
        .map(
            request ->
                known.stream()
                    .filter(
                        subject ->
                            StateKey.of(request.policy().limit(), subject)
                                .of(request.charge(0).stack())
                                .equals(request.charge(0).key()))
                    .findFirst()
                    .orElse(new Subject("unknown", "?")))
        .toList();
  }

  @Controller
  @Requires(property = "spec.name", value = "RequestSubjectsTest")
  static class Service {
    @Get("/by-address")
    @RateRule(count = 1)
    String byAddress() {
      return "ok";
    }

    @Get("/by-user")
    @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule(count = 1))
    String byUser() {
      return "ok";
    }

    @Get("/by-all")
    @RateLimiter(limitType = LimitType.GLOBAL, rules = @RateRule(count = 1))
    String byAll() {
      return "ok";
    }
  }

  /** Stands for security: authenticates every user name. */
  @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
  @Requires(property = "spec.name", value = "RequestSubjectsTest")
  static class Security implements Ordered {
    @RequestFilter
    void logIn(HttpRequest<?> request) {
      String user = request.getHeaders().get("X-User");
      if (user != null) {
        request.setAttribute(HttpAttributes.PRINCIPAL, (Principal) () -> user);
      }
    }

    @Override
    public int getOrder() {
      return ServerFilterPhase.SECURITY.order();
    }
  }
}
