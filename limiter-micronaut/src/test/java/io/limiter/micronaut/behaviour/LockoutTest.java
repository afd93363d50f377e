// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.subject.ClientAddress;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * Guessing a user's password from another address does not lock the user out; a proxy reports the
 * address.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class LockoutTest {

  private static final String SPEC = "LockoutTest";
  private static final String ATTACKER = "203.0.113.66";
  private static final String VICTIM = "192.0.2.7";

  /** As docs/subjects-and-keys.md has it, with fewer for the address and the user. */
  @Controller("/lockout")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Post("/paired")
    @RateLimiter(
        resolver = UserAtAddress.class,
        failedOn = 401,
        rules = @RateRule(count = 3, time = 900, counts = Counts.FAILURES))
    @RateLimiter(
        failedOn = 401,
        rules = @RateRule(count = 8, time = 900, counts = Counts.FAILURES, name = "address"))
    @RateLimiter(
        subject = "#{user}",
        failedOn = 401,
        rules = @RateRule(count = 12, time = 900, counts = Counts.FAILURES, name = "user"))
    HttpResponse<?> paired(@QueryValue String user, @QueryValue String password) {
      return look(password);
    }

    @Post("/user-alone")
    @RateLimiter(
        subject = "#{user}",
        failedOn = 401,
        rules = @RateRule(count = 3, time = 900, counts = Counts.FAILURES))
    HttpResponse<?> userAlone(@QueryValue String user, @QueryValue String password) {
      return look(password);
    }

    private static HttpResponse<?> look(String password) {
      return password.equals("right") ? HttpResponse.ok() : HttpResponse.unauthorized();
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class UserAtAddress implements SubjectResolver {

    private final ClientAddress address;

    UserAtAddress(ClientAddress address) {
      this.address = address;
    }

    @Override
    public Optional<String> resolve(HttpRequest<?> request) {
      return request.getParameters().getFirst("user").map(user -> address.of(request) + ' ' + user);
    }
  }

  @AutoClose
  private final TestServer server =
      TestServer.start(
          SPEC, Map.of("limiter.address.trusted-proxies", List.of("127.0.0.1", "::1")));

  @BeforeEach
  void forget() {
    server.clear();
  }

  @Test
  void aLimitByTheUserAloneLocksTheUserOut() {
    for (int guess = 0; guess < 3; guess++) {
      assertThat(logIn("user-alone", ATTACKER, "ann", "guess")).isEqualTo(401);
    }

    assertThat(logIn("user-alone", VICTIM, "ann", "right")).isEqualTo(429);
  }

  @Test
  void whereTheUserIsPairedWithTheAddressTheVictimCanLogIn() {
    for (int guess = 0; guess < 3; guess++) {
      assertThat(logIn("paired", ATTACKER, "ann", "guess")).isEqualTo(401);
    }
    for (int guess = 0; guess < 20; guess++) {
      assertThat(logIn("paired", ATTACKER, "ann", "guess")).isEqualTo(429);
    }
    assertThat(logIn("paired", ATTACKER, "ann", "right")).as("even the right one").isEqualTo(429);

    for (int call = 0; call < 5; call++) {
      assertThat(logIn("paired", VICTIM, "ann", "right")).isEqualTo(200);
    }
  }

  @Test
  void oneAddressThatTriesAllUsersComesToItsOwnLimit() {
    for (int user = 0; user < 8; user++) {
      assertThat(logIn("paired", ATTACKER, "user-" + user, "guess")).isEqualTo(401);
    }

    assertThat(logIn("paired", ATTACKER, "user-8", "right")).isEqualTo(429);
    assertThat(logIn("paired", VICTIM, "user-8", "right")).isEqualTo(200);
  }

  @Test
  void manyAddressesThatTryOneUserComeToTheWideCeiling() {
    for (int guess = 0; guess < 12; guess++) {
      assertThat(logIn("paired", "198.51.100." + guess, "ann", "guess")).isEqualTo(401);
    }

    assertThat(logIn("paired", "198.51.100.99", "ann", "guess")).isEqualTo(429);
    assertThat(logIn("paired", "198.51.100.99", "bob", "guess")).isEqualTo(401);
  }

  private int logIn(String route, String address, String user, String password) {
    String query = "?user=" + user + "&password=" + password;
    return server
        .exchange("POST", "/lockout/" + route + query, "", "X-Forwarded-For", address)
        .statusCode();
  }
}
