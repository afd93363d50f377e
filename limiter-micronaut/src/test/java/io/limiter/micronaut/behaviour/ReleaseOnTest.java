// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.micronaut.testing.HttpService;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which statuses release a submission, where the annotation lists them, and where none does. */
class ReleaseOnTest extends WithAndWithoutGate {

  ReleaseOnTest() {
    super(ReleaseOnRoutes.SPEC);
  }

  static Stream<Arguments> endings() {
    return Stream.of("sync", "stage", "stage-throws", "mono", "flux-throws")
        .flatMap(
            route ->
                Arrays.stream(Ending.values())
                    .filter(end -> end != Ending.UNEXPECTED)
                    .filter(end -> end != Ending.RETURNED || !route.startsWith("flux"))
                    .map(end -> arguments(route, end)));
  }

  @ParameterizedTest
  @MethodSource("endings")
  void aListedStatusReleasesWhateverProducedIt(String route, Ending end) {
    for (int listed : new int[] {422, 503}) {
      assertThat(submit(route, end, listed)).isEqualTo(listed);
      assertThat(submit(route, end, listed)).isEqualTo(listed);
    }
  }

  @ParameterizedTest
  @MethodSource("endings")
  void anotherStatusDoesNotWhateverProducedIt(String route, Ending end) {
    for (int other : new int[] {400, 409, 421, 500, 502, 504}) {
      server.clear();
      assertThat(submit(route, end, other)).isEqualTo(other);
      assertThat(submit(route, end, other)).isEqualTo(409);
      assertThat(server.keys().all()).hasSize(1);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "stage", "stage-throws", "mono", "flux-throws", "flux"})
  void anUnhandledExceptionIsA500WhichIsNotListed(String route) {
    assertThat(submit(route, Ending.UNEXPECTED, 503)).isEqualTo(500);
    assertThat(submit(route, Ending.UNEXPECTED, 503)).isEqualTo(409);
  }

  @ParameterizedTest
  @ValueSource(strings = {"sync", "stage", "mono", "flux"})
  void anUnhandledExceptionIsA500WhichIsListed(String route) {
    assertThat(submit("500/" + route)).isEqualTo(500);
    assertThat(submit("500/" + route)).isEqualTo(500);
    assertThat(server.keys().all()).isEmpty();
  }

  @Test
  void aStreamThatFailsAfterItHasBegunCountsAs500Too() {
    assertThatThrownBy(() -> submit("500/flux-begun")).hasMessageContaining("got no answer");

    await().until(() -> server.keys().all().isEmpty());
  }

  @ParameterizedTest
  @CsvSource({"MAPPED, 422", "HANDLED, 503"})
  void aFailureWithinAStreamIsA500WhateverWouldHandleIt(Ending end, int status) {
    assertThat(submit("flux", end, status)).isEqualTo(500);
    assertThat(submit("flux", end, status)).isEqualTo(409);
  }

  @ParameterizedTest
  @MethodSource("neverReleased")
  void noFailureReleasesIfConfigured(String route, Ending end, int status) {
    assertThat(submit("never/" + route, end, status)).isEqualTo(status);
    assertThat(submit("never/" + route, end, status)).isEqualTo(409);
  }

  static Stream<Arguments> neverReleased() {
    Stream<Arguments> single =
        Stream.of("sync", "stage", "mono")
            .flatMap(
                route ->
                    Stream.of(
                        arguments(route, Ending.RETURNED, 503),
                        arguments(route, Ending.MAPPED, 422),
                        arguments(route, Ending.HANDLED, 503),
                        arguments(route, Ending.UNEXPECTED, 500)));
    return Stream.concat(single, Stream.of(arguments("flux", Ending.UNEXPECTED, 500)));
  }

  @ParameterizedTest
  @CsvSource({
    "400, '{\"a\":'",
    "400, []",
    "500, '{\"a\":'",
    "500, []",
    "never, '{\"a\":'",
    "never, []"
  })
  void aSubmissionThatCannotBeBoundMayBeRepeatedWhateverIsListed(String route, String broken) {
    assertThat(bind(route, broken)).isEqualTo(400);
    assertThat(bind(route, "{\"a\":[1]}")).isEqualTo(200);
    assertThat(bind(route, "{\"a\":[1]}")).isEqualTo(409);
  }

  /** With FIN or RST, once the gate has decided. */
  @ParameterizedTest
  @CsvSource({"payments, true", "payments, false", "payments/never, true", "payments/never, false"})
  void aSubmissionThatNeverCameWholeMayBeMade(String route, boolean reset) throws IOException {
    try (Socket client = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      client
          .getOutputStream()
          .write(
              """
              POST %s HTTP/1.1\r
              Host: localhost\r
              Content-Type: application/json\r
              Content-Length: 100\r
              Idempotency-Key: "half"\r
              \r
              {"half\
              """
                  .formatted(HttpService.path("/release-on/" + route))
                  .getBytes(StandardCharsets.US_ASCII));
      if (gate) {
        await().until(() -> server.keys().all().size() == 1);
      }
      client.setSoLinger(reset, 0);
    }

    await().until(() -> pay(route) == 200);
    assertThat(pay(route)).isEqualTo(409);
  }

  private int pay(String route) {
    return server
        .exchange(
            "POST",
            "/release-on/" + route,
            "{\"a\":1}",
            "Content-Type",
            "application/json",
            "Idempotency-Key",
            "half")
        .statusCode();
  }

  private int bind(String route, String body) {
    return server.post("/release-on/bound/" + route, body).statusCode();
  }

  private int submit(String route) {
    return server.exchange("POST", "/release-on/" + route, "").statusCode();
  }

  private int submit(String route, Ending end, int status) {
    return submit(route + "?end=" + end + "&status=" + status);
  }
}
