// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.behaviour.BeforeSecurityRoutes.PASSWORD;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.net.http.HttpResponse;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A limit before security counts calls that security rejects, and denies further ones before they
 * reach it.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class BeforeSecurityTest {

  @AutoClose private final TestServer server = TestServer.start(BeforeSecurityRoutes.SPEC);

  @BeforeEach
  void forget() {
    server.clear();
    looks();
  }

  @ParameterizedTest
  @ValueSource(strings = {"all", "failures", "thrown"})
  void ofAHundredGuessesAtOnceThreeAreLookedAt(String route) {
    List<Integer> statuses =
        IntStream.range(0, 100)
            .mapToObj(guess -> server.getAsync("/doors/" + route, PASSWORD, "guess-" + guess))
            .toList()
            .stream()
            .map(CompletableFuture::join)
            .map(HttpResponse::statusCode)
            .toList();

    assertThat(looks()).isEqualTo(3);
    assertThat(statuses).filteredOn(status -> status == 401).hasSize(3);
    assertThat(statuses).filteredOn(status -> status == 429).hasSize(97);
  }

  @Test
  void aCallThatSecurityRejectsHasTheHeaderFields() {
    assertStands(server.get("/doors/all"), 401, 2);
    assertStands(server.get("/doors/thrown"), 401, 2);
    assertStands(server.get("/doors/all", PASSWORD, "right"), 200, 1);
    assertStands(server.get("/doors/all"), 401, 0);

    HttpResponse<String> denied = server.get("/doors/all", PASSWORD, "right");
    assertStands(denied, 429, 0);
    assertThat(denied.headers().firstValue("Retry-After")).isPresent();
  }

  @Test
  void rightPasswordsNeedNotCount() {
    for (int call = 0; call < 5; call++) {
      assertThat(server.get("/doors/failures", PASSWORD, "right").statusCode()).isEqualTo(200);
    }
    for (int guess = 0; guess < 3; guess++) {
      assertThat(server.get("/doors/failures").statusCode()).isEqualTo(401);
    }

    assertThat(looks()).isEqualTo(8);
    assertThat(server.get("/doors/failures", PASSWORD, "right").statusCode()).isEqualTo(429);
    assertThat(looks()).as("the password of a denied call is not checked").isZero();
  }

  @Test
  void aCallerMayTryAgainAfterTheWindow() {
    assertThat(server.get("/doors/short").statusCode()).isEqualTo(401);
    assertThat(server.get("/doors/short", PASSWORD, "right").statusCode()).isEqualTo(429);

    await()
        .untilAsserted(
            () ->
                assertThat(server.get("/doors/short", PASSWORD, "right").statusCode())
                    .isEqualTo(200));
  }

  @Test
  void aPlaceIsFreeOnceSecurityHasAnswered() {
    for (int call = 0; call < 3; call++) {
      assertThat(server.get("/doors/place").statusCode()).isEqualTo(401);
    }

    assertThat(server.get("/doors/place", PASSWORD, "right").statusCode()).isEqualTo(200);
  }

  @Test
  void aSubmissionThatSecurityHasTurnedAwayMayBeMadeAgain() {
    assertThat(post("wrong")).isEqualTo(401);
    assertThat(post("right")).isEqualTo(200);
    assertThat(post("right")).isEqualTo(409);
  }

  private int post(String password) {
    return server.exchange("POST", "/doors/submission", "", PASSWORD, password).statusCode();
  }

  @Test
  void allLimitsOfTheRouteAreDecidedWithIt() {
    assertStands(server.get("/doors/both"), 401, 2);

    assertThat(server.get("/doors/both").headers().firstValue("RateLimit").orElse(""))
        .contains("\"for-all\";r=7;");
  }

  @Test
  void otherRoutesAreCountedBehindSecurity() {
    for (int call = 0; call < 5; call++) {
      HttpResponse<String> away = server.get("/doors/behind");
      assertThat(away.statusCode()).isEqualTo(401);
      assertThat(away.headers().map()).doesNotContainKeys("ratelimit", "ratelimit-policy");
    }

    assertThat(looks()).isEqualTo(5);
    assertThat(server.keys().all()).isEmpty();
  }

  private int looks() {
    return server.context().getBean(BeforeSecurityRoutes.Security.class).looks.getAndSet(0);
  }

  private static void assertStands(HttpResponse<String> answer, int status, int left) {
    assertThat(answer.statusCode()).isEqualTo(status);
    assertThat(answer.headers().firstValue("RateLimit").orElse(""))
        .startsWith("\"3-per-60s\";r=" + left + ";");
  }
}
