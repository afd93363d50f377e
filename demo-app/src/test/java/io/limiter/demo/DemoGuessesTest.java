// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.testing.RecordedLog;
import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.security.annotation.Secured;
import io.micronaut.security.authentication.AuthenticationRequest;
import io.micronaut.security.authentication.AuthenticationResponse;
import io.micronaut.security.authentication.provider.HttpRequestAuthenticationProvider;
import io.micronaut.security.rules.SecurityRule;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The demo's limit on wrong passwords, with the security that a service has. */
@Tag("matrix")
class DemoGuessesTest {

  private static final AtomicInteger ATTEMPTS = new AtomicInteger();

  /** Is asked before the demo's users, and authenticates no user. */
  @Singleton
  @Requires(property = "test.attempts")
  static final class Attempts<B> implements HttpRequestAuthenticationProvider<B>, Ordered {

    @Override
    public AuthenticationResponse authenticate(
        @Nullable HttpRequest<B> request, AuthenticationRequest<String, String> credentials) {
      ATTEMPTS.incrementAndGet();
      return AuthenticationResponse.failure();
    }

    @Override
    public int getOrder() {
      return HIGHEST_PRECEDENCE;
    }
  }

  @Test
  void ofAHundredGuessesThreeReachAuthenticationAndTheRightPasswordPassesLater() {
    try (Demo demo = new Demo(Demo.newService(), Map.of("test.attempts", true))) {
      assertThat(account(demo, "ann").join().statusCode()).isEqualTo(200);
      assertThat(ATTEMPTS.getAndSet(0)).isEqualTo(1);

      List<HttpResponse<String>> answers =
          IntStream.range(0, 100)
              .mapToObj(guess -> account(demo, "guess-" + guess))
              .toList()
              .stream()
              .map(CompletableFuture::join)
              .toList();

      assertThat(ATTEMPTS).hasValue(3);
      assertThat(answers).filteredOn(answer -> answer.statusCode() == 429).hasSize(97);
      assertThat(answers)
          .filteredOn(answer -> answer.statusCode() == 401)
          .hasSize(3)
          .allSatisfy(
              away ->
                  assertThat(away.headers().map())
                      .containsKeys("ratelimit", "ratelimit-policy", "www-authenticate"));

      await()
          .atMost(Duration.ofSeconds(40))
          .untilAsserted(
              () ->
                  assertThat(account(demo, "ann").join().body()).isEqualTo("{\"owner\":\"ann\"}"));
    }
  }

  @Test
  void aWarningNamesLimitsOnWrongPasswordsThatStandBehindSecurity() {
    Map<String, Object> settings = new HashMap<>();
    settings.put("limiter.policies.elsewhere.failed-on", 401);
    settings.put("limiter.policies.elsewhere.rules[0].count", 3);
    settings.put("limiter.policies.elsewhere.rules[0].time", "60s");
    settings.put("limiter.policies.elsewhere.rules[0].counts", "failures");
    settings.put("limiter.routes[0].path", "/elsewhere/**");
    settings.put("limiter.routes[0].policy", "elsewhere");
    try (RecordedLog log = RecordedLog.of("io.limiter.micronaut.diagnostics.UserWarnings")) {
      new Demo(Demo.newService(), settings).close();
      assertThat(log.messages())
          .singleElement()
          .asString()
          .contains("do not count the 401 of micronaut-security", "1 (elsewhere)");

      log.clear();
      settings.put("limiter.policies.elsewhere.before-security", true);
      new Demo(Demo.newService(), settings).close();
      assertThat(log.messages()).isEmpty();
    }
  }

  /** The demo decides {@code /account} before security, unless a setting ends that. */
  @Test
  void aWarningSaysThatNoLimitCountsTheWrongPasswordsOfHttpBasic() {
    Map<String, Object> settings = new HashMap<>();
    settings.put(
        "limiter.policies.io.limiter.demo.AccountController.account(java.security.Principal).before-security",
        false);
    settings.put(
        "limiter.policies.io.limiter.demo.AccountController.account(java.security.Principal).enabled",
        false);
    settings.put("limiter.policies.all.rules[0].count", 1000);
    settings.put("limiter.routes[0].path", "/**");
    settings.put("limiter.routes[0].policy", "all");
    try (RecordedLog log = RecordedLog.of("io.limiter.micronaut.diagnostics.UserWarnings")) {
      new Demo(Demo.newService(), settings).close();
      assertThat(log.messages())
          .singleElement()
          .asString()
          .startsWith("HTTP Basic is on, and no limit is decided before micronaut-security")
          .endsWith(
              "Add a policy with before-security: true and a route /**, or set micronaut.security.basic-auth.enabled: false");

      log.clear();
      settings.put("micronaut.security.basic-auth.enabled", false);
      new Demo(Demo.newService(), settings).close();
      assertThat(log.messages()).isEmpty();
    }
  }

  @Controller("/open")
  @Secured(SecurityRule.IS_ANONYMOUS)
  @Requires(property = "test.open")
  static class Open {
    @Get("/counted")
    @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule)
    void counted() {}

    @Get("/rejected")
    @RateLimiter(limitType = LimitType.USER_ID, anonymous = Anonymous.REJECT, rules = @RateRule)
    void rejected() {}

    @Get("/apart")
    @RateLimiter(
        limitType = LimitType.USER_ID,
        rules = @RateRule,
        anonymousRules = @RateRule(count = 2))
    void apart() {}
  }

  @Test
  void aWarningNamesLimitsForUsersOnRoutesThatSecurityLeavesOpen() {
    try (RecordedLog log = RecordedLog.of("io.limiter.micronaut.diagnostics.UserWarnings")) {
      new Demo(Demo.newService(), Map.of("test.open", true)).close();
      assertThat(log.messages())
          .singleElement()
          .asString()
          .contains(
              "are open to callers that are not logged in",
              ": 1 ("
                  + Open.class.getName()
                  + ".counted()). Set anonymousRules or anonymous = REJECT");
    }
  }

  private static CompletableFuture<HttpResponse<String>> account(Demo demo, String password) {
    String credentials = Base64.getEncoder().encodeToString(("ann:" + password).getBytes(UTF_8));
    return demo.getLater("/account", "Authorization", "Basic " + credentials);
  }
}
