// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.behaviour.Failures.Failure;
import io.limiter.micronaut.testing.HttpService;
import java.net.http.HttpResponse;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A submission that failed may be made again as soon as its answer is there; no other may. */
@ParameterizedClass(name = "gate {0}")
@ValueSource(booleans = {true, false})
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ReleaseTest {

  @Parameter boolean gate;

  private TestServer server;
  private Failures failures;

  @BeforeParameterizedClassInvocation
  void start() {
    server = TestServer.start(Failures.SPEC, Map.of("limiter.gate.enabled", gate));
    failures = server.bean(Failures.class);
  }

  @AfterParameterizedClassInvocation
  void stop() {
    server.close();
  }

  @BeforeEach
  void forget() {
    server.clear();
  }

  static Stream<Arguments> failingCalls() {
    return Stream.of(
            "sync",
            "elsewhere",
            "stage",
            "stage-throws",
            "mono",
            "mono-throws",
            "flux",
            "flux-throws")
        .flatMap(
            route -> Arrays.stream(Failure.values()).map(failure -> Arguments.of(route, failure)));
  }

  @ParameterizedTest
  @MethodSource("failingCalls")
  void aFailedSubmissionMayBeRepeatedAtOnce(String route, Failure failure) {
    failures.failNext(failure);

    HttpResponse<String> failed = submit(route);
    HttpResponse<String> repeated = submit(route);
    HttpResponse<String> again = submit(route);

    // What fails inside of a stream is beyond the application's error handling, limited or not.
    assertThat(failed.statusCode()).isEqualTo(route.equals("flux") ? 500 : failure.status);
    assertThat(repeated.statusCode()).isEqualTo(200);
    assertThat(again.statusCode()).isEqualTo(409);
  }

  @Test
  void aFailedSubmissionStillUsesQuota() {
    failures.failNext(Failure.UNEXPECTED);

    assertThat(limit(submit("sync"))).startsWith("\"10-per-60s\";r=9;");
    assertThat(limit(submit("sync"))).startsWith("\"10-per-60s\";r=8;");
  }

  @ParameterizedTest
  @ValueSource(strings = {"status", "status-stage", "status-mono"})
  void aStatusOf500AndAboveIsAFailure(String route) {
    assertThat(submit(route + "?code=503").statusCode()).isEqualTo(503);
    assertThat(submit(route + "?code=500").statusCode()).isEqualTo(500);
    assertThat(submit(route + "?code=200").statusCode()).isEqualTo(200);
    assertThat(submit(route + "?code=200").statusCode()).isEqualTo(409);
  }

  @ParameterizedTest
  @ValueSource(strings = {"status", "status-stage", "status-mono"})
  void aStatusBelow500IsNone(String route) {
    assertThat(submit(route + "?code=404").statusCode()).isEqualTo(404);
    assertThat(submit(route + "?code=404").statusCode()).isEqualTo(409);
  }

  @ParameterizedTest
  @ValueSource(strings = {"{\"a\":", "{\"a\":[\"x\"]}", "[]"})
  void aSubmissionThatCannotBeBoundMayBeRepeatedCorrected(String broken) {
    assertThat(server.post("/failing/body", broken).statusCode()).isEqualTo(400);
    assertThat(server.post("/failing/body", "{\"a\":[1]}").statusCode()).isEqualTo(200);
    assertThat(server.post("/failing/body", "{\"a\":[1]}").statusCode()).isEqualTo(409);
  }

  @Test
  void aSubmissionWithoutARequiredValueMayBeRepeatedWithIt() {
    assertThat(submit("status").statusCode()).isEqualTo(400);
    assertThat(submit("status?code=many").statusCode()).isEqualTo(400);
    assertThat(submit("status?code=200").statusCode()).isEqualTo(200);
  }

  @ParameterizedTest
  @EnumSource(Failure.class)
  void aFailedSubmissionStaysAcceptedIfConfigured(Failure failure) {
    failures.failNext(failure);

    assertThat(submit("kept").statusCode()).isEqualTo(failure.status);
    assertThat(submit("kept").statusCode()).isEqualTo(409);
  }

  @Test
  void aDeniedDuplicateDoesNotReleaseTheAcceptedOne() {
    assertThat(submit("sync").statusCode()).isEqualTo(200);

    assertThat(submit("sync").statusCode()).isEqualTo(409);
    assertThat(submit("sync").statusCode()).isEqualTo(409);
  }

  private HttpResponse<String> submit(String route) {
    return server.exchange("POST", "/failing/" + route, "");
  }

  private static String limit(HttpResponse<String> answer) {
    return HttpService.field(answer, "RateLimit");
  }
}
