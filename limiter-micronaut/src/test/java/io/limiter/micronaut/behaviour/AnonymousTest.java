// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import java.util.Map;
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
  void anAnonymousCallIsDeniedEvenIfItIsNoSubmission() {
    assertThat(call(server, "submission/optional", HERE)).isEqualTo(400);
    assertThat(call(server, "submission/optional", "X-User", "ada")).isEqualTo(200);
  }

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
}
