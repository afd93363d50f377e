// SPDX-License-Identifier: Apache-2.0
package com.example.limits;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.test.LimitTest;
import io.limiter.test.Limits;
import io.limiter.test.TestClock;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.client.HttpClient;
import io.micronaut.http.client.annotation.Client;
import io.micronaut.http.client.exceptions.HttpClientResponseException;
import io.micronaut.runtime.server.EmbeddedServer;
import jakarta.inject.Inject;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.Callable;
import org.junit.jupiter.api.Test;

/** What counts as admitted and as denied, and what a failure says. */
@LimitTest
class LimitsTest {

  @Inject
  @Client("/")
  HttpClient client;

  @Inject Limits limits;
  @Inject TestClock clock;
  @Inject CodeService codes;
  @Inject EmbeddedServer server;

  private Callable<?> get(String path) {
    return () -> client.toBlocking().exchange(path);
  }

  @Test
  void aDenialHasStatusPolicyRuleTimeAndResponse() {
    Limits.DeniedCalls denied =
        limits
            .assertAdmits(1, get("/teapot"))
            .thenDenies(2)
            .withStatus(418)
            .byPolicy("tea")
            .byRule("1-per-1s")
            .withRetryAfter(Duration.ofSeconds(1));

    assertThat(denied.response().header("Retry-After")).isEqualTo("1");
    assertThat(denied.verdict().violated()).hasSize(1);
    clock.advance(1, ChronoUnit.SECONDS);
    denied.thenAdmits(1).thenDenies();
  }

  @Test
  void beansAreCalledDirectly() {
    limits.assertAdmits(1, () -> codes.send("1")).thenDenies().byRule("1-per-60s");
    limits.assertAdmits(1, () -> codes.send("2"));
    limits.assertAdmits(2, () -> codes.later()).thenDenies();
    limits.assertAdmits(2, () -> codes.many()).thenDenies();
    limits.assertAdmits(2, () -> codes.acquire()).thenDenies().byPolicy("failures");
  }

  @Test
  void otherClientsAreUnderstood() {
    java.net.http.HttpClient jdk = java.net.http.HttpClient.newHttpClient();
    java.net.http.HttpRequest request =
        java.net.http.HttpRequest.newBuilder(server.getURI().resolve("/articles")).build();
    limits.assertAdmits(5, () -> jdk.send(request, BodyHandlers.ofString()));
    limits.assertAdmits(4, () -> jdk.sendAsync(request, BodyHandlers.ofString()));
    limits.assertAdmits(1, () -> client.exchange("/articles")).thenDenies().withStatus(429);
    limits.assertDenies(() -> jdk.send(request, BodyHandlers.ofString())).withStatus(429);
    limits.assertDenies(() -> jdk.send(request, BodyHandlers.ofString()).statusCode());
  }

  @Test
  void aQueueEmptiesWithTheClock() {
    limits.assertAdmits(3, get("/queue")).thenDenies();
    clock.advance(1, ChronoUnit.MILLIS);
    limits.assertAdmits(1, get("/queue")).thenDenies();
  }

  @Test
  void aBanAndADuplicateEndByTheClock() {
    limits.assertAdmits(1, () -> codes.once("1")).thenDenies(2).byPolicy("once");
    clock.advance(2, ChronoUnit.SECONDS);
    limits.assertDenies(() -> codes.once("1")).withRetryAfter(Duration.ofSeconds(28));
    clock.advance(28, ChronoUnit.SECONDS);
    limits.assertAdmits(1, () -> codes.once("1"));

    limits.assertAdmits(1, () -> codes.submit("tea")).thenDenies();
    limits.assertAdmits(1, () -> codes.submit("milk"));
    clock.advance(5, ChronoUnit.SECONDS);
    limits.assertAdmits(1, () -> codes.submit("tea"));
  }

  @Test
  void anErrorOfTheMethodIsThrown() {
    assertThatThrownBy(() -> limits.assertAdmits(1, get("/broken")))
        .isInstanceOfSatisfying(
            HttpClientResponseException.class,
            failed -> assertThat(failed.getStatus().getCode()).isEqualTo(500));
    assertThatThrownBy(() -> limits.assertDenies(get("/broken")))
        .isInstanceOf(HttpClientResponseException.class);
    assertThatThrownBy(() -> limits.assertDenies(get("/nothing")))
        .isInstanceOf(HttpClientResponseException.class);
    IllegalStateException own = new IllegalStateException("mine");
    assertThatThrownBy(
            () ->
                limits.assertAdmits(
                    1,
                    () -> {
                      throw own;
                    }))
        .isSameAs(own);
  }

  @Test
  void anErrorMayBeExpected() {
    Callable<?> login = () -> client.toBlocking().exchange(HttpRequest.POST("/login", ""));

    limits.expecting(401).assertAdmits(3, login).thenDenies().withStatus(429);
  }

  @Test
  void aReturnedErrorIsNeitherAdmittedNorDenied() throws Exception {
    java.net.http.HttpClient jdk = java.net.http.HttpClient.newHttpClient();
    java.net.http.HttpRequest request =
        java.net.http.HttpRequest.newBuilder(server.getURI().resolve("/nothing")).build();

    assertThatThrownBy(
            () -> limits.assertAdmits(1, () -> jdk.send(request, BodyHandlers.ofString())))
        .isInstanceOf(AssertionError.class)
        .hasMessage(
            "Call 1 ended with the status 404, and no limit denied it: expecting(404) counts it as admitted, if the call is meant to end this way");
  }

  @Test
  void aDenialTooEarlySaysWhatDenied() {
    assertThatThrownBy(() -> limits.assertAdmits(11, get("/articles")))
        .isInstanceOf(AssertionError.class)
        .hasMessage(
            "Call 11 was denied with the status 429, by the rule 10-per-60s of the policy com.example.limits.ArticleController.list(), retry after PT1M; expected: 11 admitted, were: 10");
    assertThatThrownBy(() -> limits.assertAdmits(1, () -> codes.send("1")).thenAdmits(1))
        .isInstanceOf(AssertionError.class)
        .hasMessage(
            "Call 2 was denied by an exception, by the rule 1-per-60s of the policy code, retry after PT1M; expected: 1 admitted, were: 0");
  }

  @Test
  void anAdmissionTooManySaysSo() {
    assertThatThrownBy(() -> limits.assertAdmits(9, get("/articles")).thenDenies())
        .isInstanceOf(AssertionError.class)
        .hasMessage("Call 10 should have been denied, but was admitted with the status 200");
  }

  @Test
  void aMethodWithoutLimitIsNamedAsTheReason() {
    assertThatThrownBy(() -> limits.assertAdmits(3, get("/open")).thenDenies())
        .isInstanceOf(AssertionError.class)
        .hasMessage(
            "Call 4 should have been denied, but was admitted with the status 200: no limit decided it. Check whether its method is limited, and whether its caller is exempt");
  }

  @Test
  void aDenialOfAnotherKindSaysWhatItIs() {
    Limits.DeniedCalls denied = limits.assertAdmits(10, get("/articles")).thenDenies();
    String was =
        "Call 11 was denied with the status 429, by the rule 10-per-60s of the policy com.example.limits.ArticleController.list(), retry after PT1M; expected: ";

    assertThatThrownBy(() -> denied.withStatus(409)).hasMessage(was + "the status 409");
    assertThatThrownBy(() -> denied.byPolicy("tea")).hasMessage(was + "the policy tea");
    assertThatThrownBy(() -> denied.byRule("9-per-60s")).hasMessage(was + "the rule 9-per-60s");
    assertThatThrownBy(() -> denied.withRetryAfter(Duration.ofSeconds(59)))
        .hasMessage(was + "a retry after PT59S");
    assertThatThrownBy(() -> limits.assertAdmits(1, () -> codes.send("1")).thenDenies().response())
        .hasMessage("The call was denied by an exception, which is not a Micronaut response");
    assertThatThrownBy(() -> denied.thenDenies(0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("thenDenies(0): use 1 or more calls");
    assertThatThrownBy(() -> denied.thenAdmits(-1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("thenAdmits(-1): use 0 or more calls");
  }

  @Test
  void theClockMovesByWholeMicrosecondsForward() {
    assertThatThrownBy(() -> clock.advance(Duration.ofSeconds(-1)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("advance(PT-1S): use 0 or more; for an earlier time use set(…)");
    assertThatThrownBy(() -> clock.advance(1, ChronoUnit.NANOS))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "advance(PT0.000000001S): the clock moves in whole microseconds, the resolution of the limiter");
    assertThatThrownBy(() -> clock.set(TestClock.START.plusNanos(1)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThat(clock.now()).isEqualTo(TestClock.START);
  }
}
