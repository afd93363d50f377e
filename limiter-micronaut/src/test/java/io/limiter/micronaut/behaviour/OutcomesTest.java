// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.limiter.micronaut.behaviour.OutcomeRoutes.End;
import io.limiter.micronaut.testing.StatedCallers;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What counts is how a call has ended: {@link OutcomeTableTest} has each way of each kind. */
class OutcomesTest extends WithAndWithoutGate {

  OutcomesTest() {
    super(OutcomeRoutes.SPEC, Map.of("test.stated-callers", true));
  }

  @ParameterizedTest
  @CsvSource({
    "failures/sync, DENIED, 401",
    "failures/sync, HANDLED, 200",
    "failures/sync, BROKEN, 500",
    "failures/argument, DENIED, 401",
    "failures/argument, HANDLED, 200",
    "failures/argument, BROKEN, 500",
  })
  void twoFailuresAreTooMany(String route, End failure, int status) {
    assertThat(call(route, failure)).isEqualTo(status);
    assertThat(call(route, End.OK)).isEqualTo(200);
    assertThat(call(route, failure)).isEqualTo(status);

    HttpResponse<String> denied = get(route, End.OK);
    assertThat(denied.statusCode()).isEqualTo(429);
    assertThat(field(denied, "RateLimit-Policy")).isEqualTo("\"2-per-3600s\";q=2;w=3600");
    assertThat(field(denied, "Retry-After")).matches("3600|35\\d\\d");
  }

  @Test
  void aStreamThatFailsAfterItHasBegunIsAFailure() {
    for (int i = 0; i < 2; i++) {
      assertThatThrownBy(() -> get("failures/flux", End.BROKEN))
          .hasMessageContaining("got no answer");
    }

    assertThat(call("failures/flux", End.OK)).isEqualTo(429);
  }

  @Test
  void onlyWhatTheAnnotationListsIsAFailure() {
    for (int i = 0; i < 3; i++) {
      assertThat(call("denials", End.BROKEN)).isEqualTo(500);
      assertThat(call("denials", End.HANDLED)).isEqualTo(200);
    }
    assertThat(call("denials", End.DENIED)).isEqualTo(401);
    assertThat(call("denials", End.DENIED)).isEqualTo(401);
    assertThat(call("denials", End.OK)).isEqualTo(429);
  }

  @Test
  void whereSuccessesCountFailuresDoNot() {
    String route = "successes";
    for (int i = 0; i < 3; i++) {
      assertThat(call(route, End.DENIED)).isEqualTo(401);
      assertThat(call(route, End.BROKEN)).isEqualTo(500);
      assertThat(call(route, End.HANDLED)).isEqualTo(200);
    }
    assertThat(call(route, End.OK)).isEqualTo(200);
    assertThat(call(route, End.OK)).isEqualTo(200);
    assertThat(call(route, End.DENIED)).isEqualTo(429);
  }

  /** The fields are sent before the call ends: it may still fail, or not. */
  @Test
  void allThreeKindsAreOneDecision() {
    assertThat(call("stacked", End.OK)).isEqualTo(200);
    assertThat(call("stacked", End.DENIED)).isEqualTo(401);
    assertThat(limits(get("stacked", End.DENIED))).containsExactly(7, 0, 3);

    HttpResponse<String> denied = get("stacked", End.OK);
    assertThat(denied.statusCode()).isEqualTo(429);
    assertThat(limits(denied)).as("it has taken nothing").containsExactly(7, 0, 4);
  }

  private static List<Integer> limits(HttpResponse<String> answer) {
    return Pattern.compile(";r=(\\d+)")
        .matcher(field(answer, "RateLimit"))
        .results()
        .map(found -> Integer.valueOf(found.group(1)))
        .toList();
  }

  @Test
  void ofAHundredGuessesAtOnceThreeAreLookedAt() {
    OutcomeRoutes routes = server.bean(OutcomeRoutes.class);
    int before = routes.checks.get();

    List<Integer> statuses =
        IntStream.range(0, 100)
            .mapToObj(i -> server.getAsync("/outcomes/log-in?user=" + caller))
            .toList()
            .stream()
            .map(CompletableFuture::join)
            .map(HttpResponse::statusCode)
            .toList();

    assertThat(routes.checks.get() - before).isEqualTo(3);
    assertThat(statuses).filteredOn(status -> status == 401).hasSize(3);
    assertThat(statuses).filteredOn(status -> status == 429).hasSize(97);
  }

  @Test
  void aClientThatDisconnectsDuringItsCallHasUsedAnAttempt() throws IOException {
    for (int i = 0; i < 2; i++) {
      try (Socket client = server.open("/outcomes/endless", StatedCallers.ADDRESS, caller)) {
        assertThat(client.getInputStream().read()).isPositive();
        client.setSoLinger(true, 0);
      }
    }

    await()
        .during(Duration.ofMillis(300))
        .atMost(Duration.ofSeconds(20))
        .until(
            () ->
                server.get("/outcomes/endless", StatedCallers.ADDRESS, caller).statusCode() == 429);
  }

  /**
   * Its response is a 400, wherever the mistake was found. Around the method it is not a call at
   * all.
   */
  @Test
  void aBrokenBodyIsAFailureWhereTheGateHasCountedIt() {
    for (int i = 0; i < 2; i++) {
      assertThat(post("{\"a\":").statusCode()).isEqualTo(400);
    }

    assertThat(post("{\"a\":1}").statusCode()).isEqualTo(gate ? 429 : 200);
  }

  private int call(String route, End end) {
    return get(route, end).statusCode();
  }

  private HttpResponse<String> get(String route, End end) {
    return server.get(
        "/outcomes/%s?end=%s&who=%s".formatted(route, end, caller), StatedCallers.ADDRESS, caller);
  }

  private HttpResponse<String> post(String json) {
    return server.post("/outcomes/failures/body", json, StatedCallers.ADDRESS, caller);
  }
}
