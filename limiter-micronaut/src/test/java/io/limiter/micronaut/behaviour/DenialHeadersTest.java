// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.behaviour.DenialAnswersTest.second;
import static io.limiter.micronaut.behaviour.DenialAnswersTest.start;
import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.micronaut.exception.LimitDeniedException;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import java.net.http.HttpResponse;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The header fields that report the state of a limit, and that denials are never cached. */
class DenialHeadersTest {

  private static final String CACHE_CONTROL = "test.cache-control";

  /** An application that thinks its errors may be stored, or forbids it itself. */
  @Controller
  @Requires(property = CACHE_CONTROL)
  static class StoredErrors {
    private final String cacheControl;

    StoredErrors(io.micronaut.context.env.Environment environment) {
      this.cacheControl = environment.getRequiredProperty(CACHE_CONTROL, String.class);
    }

    @Error(global = true)
    io.micronaut.http.HttpResponse<String> denied(LimitDeniedException denied) {
      return io.micronaut.http.HttpResponse.<String>status(429, "Later")
          .header("Cache-Control", cacheControl)
          .header("X-RateLimit-Limit", "mine")
          .body("own");
    }
  }

  @Test
  void withoutThemADenialStillHasRetryAfter() {
    try (TestServer server = start(Map.of("limiter.headers.format", "none"))) {
      HttpResponse<String> admitted = server.get("/denials/limited");
      HttpResponse<String> denied = server.get("/denials/limited");

      assertThat(admitted.headers().map()).doesNotContainKeys("ratelimit", "ratelimit-policy");
      assertThat(denied.statusCode()).isEqualTo(429);
      assertThat(denied.headers().map()).doesNotContainKeys("ratelimit", "ratelimit-policy");
      assertThat(field(denied, "Retry-After")).matches("60|[345]\\d");
      assertThat(field(denied, "Cache-Control")).isEqualTo("no-store");
    }
  }

  @Test
  void retryAfterCanBeDisabled() {
    try (TestServer server = start(Map.of("limiter.headers.retry-after", false))) {
      HttpResponse<String> denied = second(server, "GET", "/denials/limited");

      assertThat(denied.statusCode()).isEqualTo(429);
      assertThat(denied.headers().map()).doesNotContainKey("retry-after");
      assertThat(field(denied, "RateLimit")).startsWith("\"1-per-60s\";r=0;t=");
      assertThat(field(denied, "Cache-Control")).isEqualTo("no-store");
    }
  }

  /** Each longer than its wait by up to the wait itself, and the same in header and body. */
  @Test
  void equalDenialsAreSpread() {
    try (TestServer server =
        start(
            Map.of(
                "limiter.headers.retry-after-jitter",
                1,
                "limiter.denial.message",
                "Again in {retryAfter} s"))) {
      server.get("/denials/limited");
      Set<Integer> stated = new TreeSet<>();
      for (int i = 0; i < 50; i++) {
        HttpResponse<String> denied = server.get("/denials/limited");
        assertThat(denied.body()).contains("Again in " + field(denied, "Retry-After") + " s");
        assertThat(field(denied, "RateLimit")).matches("\"1-per-60s\";r=0;t=(60|[345]\\d)");
        stated.add(Integer.valueOf(field(denied, "Retry-After")));
      }
      assertThat(stated)
          .hasSizeGreaterThan(10)
          .allMatch(seconds -> 30 <= seconds && seconds <= 120);
      assertThat(stated).anyMatch(seconds -> seconds < 80).anyMatch(seconds -> seconds > 90);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"-0.1", "1.01", "NaN"})
  void aShareOutsideOfZeroToOneStopsTheStart(String share) {
    assertThatThrownBy(() -> start(Map.of("limiter.headers.retry-after-jitter", share)).close())
        .rootCause()
        .hasMessageContainingAll("limiter.headers.retry-after-jitter", share, "0 to 1");
  }

  @Test
  void theFieldsOfOlderClientsAreNotSentUnlessTheyAreWanted() {
    try (TestServer server = start(Map.of())) {
      assertThat(server.get("/denials/limited").headers().map().keySet())
          .noneMatch(name -> name.startsWith("x-"));
      assertThat(server.get("/denials/limited").headers().map().keySet())
          .noneMatch(name -> name.startsWith("x-"));
    }
  }

  /** Of 3 in 60 s, 4 in 3600 s and 3 in 1800 s. */
  @Test
  void olderClientsReceiveTheRuleThatIsExhaustedFirst() {
    try (TestServer server = start(Map.of("limiter.headers.format", "x-rate-limit"))) {
      for (int left = 2; left >= 0; left--) {
        HttpResponse<String> admitted = server.get("/denials/three");
        assertThat(admitted.statusCode()).isEqualTo(200);
        assertLegacy(admitted, "3", Integer.toString(left), "1800|17\\d\\d");
      }
      HttpResponse<String> denied = server.get("/denials/three");
      assertThat(denied.statusCode()).isEqualTo(429);
      assertLegacy(denied, "3", "0", field(denied, "Retry-After"));
      assertThat(field(denied, "Retry-After")).matches("1800|17\\d\\d");
      assertThat(denied.headers().map()).doesNotContainKeys("ratelimit", "ratelimit-policy");
    }
  }

  @Test
  void olderClientsCanReceiveTheTimeInstead() {
    try (TestServer server =
        start(Map.of("limiter.headers.format", List.of("draft-11", "x-rate-limit-epoch")))) {
      HttpResponse<String> denied = second(server, "GET", "/denials/limited");

      long reset = Long.parseLong(field(denied, "X-RateLimit-Reset"));
      long now = Instant.now().getEpochSecond();
      assertThat(reset - now).isBetween(30L, 61L);
      assertLegacy(denied, "1", "0", Long.toString(reset));
      assertThat(field(denied, "RateLimit")).startsWith("\"1-per-60s\";r=0;t=");
    }
  }

  @Test
  void aDuplicateHasNoFieldsOfMissingRules() {
    try (TestServer server = start(Map.of("limiter.headers.format", "draft-11,x-rate-limit"))) {
      HttpResponse<String> denied = second(server, "POST", "/denials/duplicate");

      assertThat(denied.statusCode()).isEqualTo(409);
      assertThat(denied.headers().map().keySet())
          .noneMatch(name -> name.contains("ratelimit") || name.equals("retry-after"));
      assertThat(field(denied, "Cache-Control")).isEqualTo("no-store");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "'public, max-age=60',no-store",
    "no-cache,no-store",
    "'private,  No-Store ','private,  No-Store'",
    "no-store-at-all,no-store"
  })
  void denialsAreNeverCachedWhateverTheApplicationSets(String own, String sent) {
    try (TestServer server = start(Map.of(CACHE_CONTROL, own, "limiter.headers.format", "none"))) {
      HttpResponse<String> denied = second(server, "GET", "/denials/limited");

      assertThat(denied.body()).isEqualTo("own");
      assertThat(field(denied, "Cache-Control")).isEqualTo(sent);
    }
  }

  @Test
  void aFieldOfTheApplicationIsNotMixedWithOthers() {
    Map<String, Object> settings =
        Map.of(CACHE_CONTROL, "no-store", "limiter.headers.format", "draft-11,x-rate-limit");
    try (TestServer server = start(settings)) {
      HttpResponse<String> denied = second(server, "GET", "/denials/limited");

      assertLegacy(denied, "1", "0", "60|[345]\\d");
      assertThat(field(denied, "Retry-After")).isEqualTo(field(denied, "X-RateLimit-Reset"));
    }
  }

  private static void assertLegacy(
      HttpResponse<String> answer, String limit, String remaining, String reset) {
    assertThat(field(answer, "X-RateLimit-Limit")).isEqualTo(limit);
    assertThat(field(answer, "X-RateLimit-Remaining")).isEqualTo(remaining);
    assertThat(field(answer, "X-RateLimit-Reset")).matches(reset);
  }
}
