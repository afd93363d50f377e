// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls without a subject are never counted together as one. */
class AnonymousTest extends WithAndWithoutGate {

  private static final String[] HERE = {"X-Address", "192.0.2.8"};
  private static final String[] THERE = {"X-Address", "192.0.2.9"};

  private TestServer strict;

  AnonymousTest() {
    super(AnonymousRoutes.SPEC, Map.of("test.stated-callers", true));
  }

  @BeforeParameterizedClassInvocation
  void startStrict() {
    strict = start(Map.of("test.stated-callers", true, "limiter.anonymous", "reject"));
  }

  @AfterParameterizedClassInvocation
  void stopStrict() {
    strict.close();
  }

  @BeforeEach
  void forgetStrict() {
    strict.clear();
  }

  @ParameterizedTest
  @ValueSource(strings = {"user", "header", "resolver", "user/by-address"})
  void strangersAreCountedByTheirAddresses(String route) {
    assertThat(call(server, route, HERE)).isEqualTo(200);
    assertThat(call(server, route, HERE)).isEqualTo(200);

    assertThat(call(server, route, HERE)).isEqualTo(429);
    assertThat(call(server, route, THERE)).isEqualTo(200);
  }

  @Test
  void aKnownSubjectDoesNotUseTheAnonymousLimitOfItsAddress() {
    for (int call = 0; call < 3; call++) {
      call(server, "user", "X-User", "ada", "X-Address", "192.0.2.8");
    }

    assertThat(call(server, "user", HERE)).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"user/denied", "user/twice", "header/denied", "header/twice", "resolver/denied"})
  void anAnnotationMayDenyStrangersBeforeAnythingIsCounted(String route) {
    HttpResponse<String> denied = server.get("/anonymous/" + route, HERE);

    assertThat(denied.statusCode()).isEqualTo(400);
    assertThat(denied.headers().map()).doesNotContainKeys("ratelimit", "retry-after");
    assertThat(server.keys().all()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "user/denied, X-User",
    "user/twice, X-User",
    "header/denied, X-Api-Key",
    "header/twice, X-Api-Key"
  })
  void aKnownSubjectIsNotDenied(String route, String header) {
    assertThat(call(server, route, header, "ada")).isEqualTo(200);
    assertThat(call(server, route, header, "ada")).isEqualTo(200);
    assertThat(call(server, route, header, "ada")).isEqualTo(429);
    assertThat(call(server, route, header, "")).isEqualTo(400);
  }

  @Test
  void anAnonymousSubmissionIsDeniedLikeACall() {
    assertThat(submit()).isEqualTo(400);
    assertThat(server.keys().all()).isEmpty();

    assertThat(submit("X-User", "ada")).isEqualTo(200);
    assertThat(submit("X-User", "ada")).isEqualTo(409);
    assertThat(submit("X-User", "bob")).isEqualTo(200);
  }

  @Test
  void anAnonymousCallIsDeniedEvenIfItIsNoSubmission() {}

  @ParameterizedTest
  @ValueSource(strings = {"user", "header", "resolver"})
  void theConfigurationMayDenyAnonymousCallsUnlessAnAnnotationOverridesIt(String route) {
    assertThat(call(strict, route, HERE)).isEqualTo(400);
    assertThat(strict.keys().all()).isEmpty();

    assertThat(call(strict, "user/by-address", HERE)).isEqualTo(200);
    assertThat(call(strict, "user", "X-User", "ada")).isEqualTo(200);
    assertThat(strict.keys().all()).hasSize(2);
  }

  @Test
  void strangersMayHaveRulesOfTheirOwn() {
    for (int call = 4; call >= 0; call--) {
      assertThat(field(trial("X-Api-Key", "a"), "RateLimit"))
          .matches("\"5-per-10s\";r=%s;t=\\d+".formatted(call));
    }
    assertThat(trial("X-Api-Key", "a").statusCode()).isEqualTo(429);
    assertThat(trial("X-Api-Key", "b").statusCode()).isEqualTo(200);

    for (int call = 1; call >= 0; call--) {
      assertThat(field(trial(HERE), "RateLimit"))
          .matches("\"2-per-10s\";r=%s;t=\\d+".formatted(call));
    }
    HttpResponse<String> denied = trial(HERE);
    assertThat(denied.statusCode()).isEqualTo(429);
    assertThat(field(denied, "RateLimit-Policy")).isEqualTo("\"2-per-10s\";q=2;w=10");
    assertThat(trial(THERE).statusCode()).isEqualTo(200);
  }

  private HttpResponse<String> trial(String... headers) {
    return server.get("/anonymous/trial", headers);
  }

  private int submit(String... headers) {
    return server.exchange("POST", "/anonymous/submission/denied", "", headers).statusCode();
  }

  private static int call(TestServer server, String route, String... headers) {
    return server.get("/anonymous/" + route, headers).statusCode();
  }

  /** Limits that cannot identify every caller: two calls a minute, unless stated otherwise. */
  @Controller("/anonymous")
  @Requires(property = "spec.name", value = AnonymousRoutes.SPEC)
  static class AnonymousRoutes {

    static final String SPEC = "Anonymous";

    private static final String OK = "ok";

    @Get("/user")
    @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule(count = 2, time = 60))
    String user() {
      return OK;
    }

    @Get("/header")
    @RateLimiter(header = "X-Api-Key", rules = @RateRule(count = 2, time = 60))
    String header() {
      return OK;
    }

    @Get("/resolver")
    @RateLimiter(resolver = Tenant.class, rules = @RateRule(count = 2, time = 60))
    String resolver() {
      return OK;
    }

    @Get("/user/by-address")
    @RateLimiter(
        limitType = LimitType.USER_ID,
        anonymous = Anonymous.ADDRESS,
        rules = @RateRule(count = 2, time = 60))
    String userByAddress() {
      return OK;
    }

    @Get("/user/denied")
    @RateLimiter(
        limitType = LimitType.USER_ID,
        anonymous = Anonymous.REJECT,
        rules = {@RateRule(count = 2, time = 60, limitType = LimitType.GLOBAL), @RateRule})
    String userDenied() {
      return OK;
    }

    @Get("/header/denied")
    @RateLimiter(
        header = "X-Api-Key",
        anonymous = Anonymous.REJECT,
        rules = {@RateRule(count = 2, time = 60, limitType = LimitType.IP), @RateRule})
    String headerDenied() {
      return OK;
    }

    @Get("/resolver/denied")
    @RateLimiter(
        resolver = Tenant.class,
        anonymous = Anonymous.REJECT,
        rules = @RateRule(count = 2, time = 60))
    String resolverDenied() {
      return OK;
    }

    /** The stricter of two limits that count one subject. */
    @Get("/user/twice")
    @RateLimiter(limitType = LimitType.USER_ID, rules = @RateRule(count = 20, time = 3600))
    @RateLimiter(
        limitType = LimitType.USER_ID,
        anonymous = Anonymous.REJECT,
        rules = @RateRule(count = 2, time = 60))
    String userTwice() {
      return OK;
    }

    @Get("/header/twice")
    @RateLimiter(
        header = "X-Api-Key",
        anonymous = Anonymous.REJECT,
        rules = @RateRule(count = 2, time = 60))
    @RateLimiter(header = "x-api-key", rules = @RateRule(count = 20, time = 3600))
    String headerTwice() {
      return OK;
    }

    @Post("/submission/denied")
    @RateLimiter(
        limitType = LimitType.USER_ID,
        anonymous = Anonymous.REJECT,
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 60))
    String submissionDenied() {
      return OK;
    }

    @Get("/trial")
    @RateLimiter(
        header = "X-Api-Key",
        rules = @RateRule(count = 5, time = 10),
        anonymousRules = @RateRule(count = 2, time = 10))
    String trial() {
      return OK;
    }

    /** Returns no subject. */
    @Singleton
    @Requires(property = "spec.name", value = SPEC)
    static class Tenant implements SubjectResolver {
      @Override
      public Optional<String> resolve(HttpRequest<?> request) {
        return Optional.empty();
      }
    }
  }
}
