// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.testing.StatedCallers;
import java.net.http.HttpResponse;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a caller meets of each algorithm. */
class AlgorithmsTest extends WithAndWithoutGate {

  AlgorithmsTest() {
    super(
        AlgorithmRoutes.SPEC,
        Map.of("test.stated-callers", true, "limiter.zone", whereItIsNoon().getId()));
  }

  @ParameterizedTest
  @CsvSource({
    "log, 3-per-60s, 3, 60, (60|5\\d)",
    "counter, 3-per-60s, 3, 60, (60|\\d\\d?|1[01]\\d|120)",
    "window, 3-per-60s, 3, 60, (60|5\\d)",
    "bucket, 3-at-1-per-60s, 3, 180, (60|5\\d)",
    "interval-bucket, 3-at-1-per-60s, 3, 180, (60|5\\d)",
    "bucket-of?who=, 3-at-1-per-60s, 3, 180, (60|5\\d)",
    "own, 6-per-60s, 6, 60, (60|5\\d)"
  })
  void threeCallsAreAdmittedAndTheFourthHasARetryTime(
      String route, String rule, int quota, int window, String wait) {
    String path = route.endsWith("=") ? route + caller : route;
    for (int left = 2; left >= 0; left--) {
      HttpResponse<String> admitted = call(path);
      assertThat(admitted.statusCode()).isEqualTo(200);
      assertThat(field(admitted, "RateLimit-Policy"))
          .isEqualTo("\"%s\";q=%s;w=%s".formatted(rule, quota, window));
      assertThat(field(admitted, "RateLimit")).startsWith("\"%s\";r=%s;t=".formatted(rule, left));
    }

    HttpResponse<String> denied = call(path);

    assertThat(denied.statusCode()).isEqualTo(429);
    assertThat(denied.body()).contains("\"logref\":\"rate_limited\"");
    assertThat(field(denied, "RateLimit")).startsWith("\"%s\";r=0;t=".formatted(rule));
    assertThat(field(denied, "Retry-After")).matches(wait);
  }

  @Test
  void aQueueShowsHowManyCallsMayWaitForSoLong() {
    assertThat(call("queue"))
        .satisfies(
            first ->
                assertThat(field(first, "RateLimit-Policy"))
                    .isEqualTo("\"1-per-60s-queue-100\";q=4"),
            first ->
                assertThat(field(first, "RateLimit")).matches("\"1-per-60s-queue-100\";r=3;t=60"));
  }

  @Test
  void theTimeIsThatOfTheNextCallOfTheSameCost() {
    HttpResponse<String> admitted = call("costly");

    assertThat(field(admitted, "RateLimit"))
        .isEqualTo("\"60-at-1-per-1s\";r=0;t=60, \"100-per-90s\";r=40;t=90");
    assertThat(field(call("costly"), "Retry-After")).matches("90|89");
  }

  @Test
  void eachClientHasASeparateBucket() {
    call("bucket");

    assertThat(server.get("/algorithms/bucket", StatedCallers.ADDRESS, "other-" + caller))
        .satisfies(other -> assertThat(field(other, "RateLimit")).contains(";r=2;"));
  }

  /** It is noon by the clock that is configured. */
  @Test
  void anAlignedDayEndsAtMidnight() {
    for (int i = 0; i < 3; i++) {
      assertThat(call("day").statusCode()).isEqualTo(200);
    }

    HttpResponse<String> denied = call("day");

    assertThat(denied.statusCode()).isEqualTo(429);
    assertThat(Integer.parseInt(field(denied, "Retry-After"))).isBetween(36_000, 46_800);
    assertThat(field(denied, "RateLimit-Policy")).isEqualTo("\"3-per-86400s\";q=3;w=86400");
  }

  @Test
  void aBucketMayStartWithLessThanItHolds() {
    assertThat(call("slow-start").statusCode()).isEqualTo(200);
    assertThat(call("slow-start").statusCode()).isEqualTo(429);
  }

  @Test
  void rulesOfAllAlgorithmsAreOneDecision() {
    for (int i = 0; i < 3; i++) {
      assertThat(call("mixed").statusCode()).isEqualTo(200);
    }

    HttpResponse<String> denied = call("mixed");
    HttpResponse<String> again = call("mixed");

    assertThat(denied.statusCode()).isEqualTo(429);
    assertThat(field(denied, "RateLimit-Policy"))
        .isEqualTo(
            "\"5-per-60s\";q=5;w=60, \"4-per-60s\";q=4;w=60, \"3-at-1-per-60s\";q=3;w=180, \"10-per-60s\";q=10;w=60");
    for (HttpResponse<String> answer : List.of(denied, again)) {
      assertThat(field(answer, "RateLimit"))
          .as("what is denied takes nothing from any rule")
          .matches("\"5-per-60s\";r=2;.*\"4-per-60s\";r=1;.*\"3-at-1-per-60s\";r=0;.*r=7;t=\\d+");
    }
  }

  private HttpResponse<String> call(String route) {
    return server.get("/algorithms/" + route, StatedCallers.ADDRESS, caller);
  }

  /** Within an hour. */
  private static ZoneOffset whereItIsNoon() {
    return ZoneOffset.ofHours(12 - LocalTime.now(ZoneOffset.UTC).getHour());
  }
}
