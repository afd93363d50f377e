// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.FailureReason;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code X-Decided-By}, which configuration alone switches on. */
class DecidedByFieldTest {

  private static final String SPEC = "DecidedByField";
  private static final String FIELD = "X-Decided-By";
  private static final String DEBUG = "limiter.headers.debug";

  /** What a client could try. */
  private static final String[] ASKED = {
    "X-Decided-By", "please", "X-Debug", "true", "limiter.headers.debug", "true"
  };

  @Controller("/who")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    private final Inner inner;

    Routes(Inner inner) {
      this.inner = inner;
    }

    @Get("/route")
    @RateRule(count = 1, time = 3_600)
    String route() {
      return "ok";
    }

    @Get("/argument")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 1, time = 3_600))
    String argument(@QueryValue String who) {
      return who;
    }

    @Post("/duplicate")
    @RateLimiter(
        rules = @RateRule(count = 10, time = 3_600),
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(count = 1, time = 3_600))
    String duplicate() {
      return "ok";
    }

    @Get("/inner")
    @ExecuteOn(TaskExecutors.BLOCKING)
    String inner() {
      return inner.call();
    }

    @Get("/own")
    @RateRule(count = 1, time = 3_600)
    io.micronaut.http.HttpResponse<String> own() {
      return io.micronaut.http.HttpResponse.ok("ok").header(FIELD, "another");
    }

    @Get("/unlimited")
    String unlimited() {
      return "ok";
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Inner {
    @RateRule(count = 1, time = 3_600)
    String call() {
      return "ok";
    }
  }

  private static TestServer start(Object... settings) {
    return TestServer.start(SPEC, HttpService.settings(settings));
  }

  private static List<String> decided(TestServer server, int calls, String method, String path) {
    return IntStream.range(0, calls)
        .mapToObj(i -> server.exchange(method, path, ""))
        .map(response -> response.statusCode() + " " + field(response, FIELD))
        .toList();
  }

  @ParameterizedTest
  @CsvSource({"true,true", "true,false", "false,true", "false,false"})
  void itStatesWhatDecidedEachCall(boolean gate, boolean denyCache) {
    try (TestServer server =
        start(DEBUG, true, "limiter.gate.enabled", gate, "limiter.deny-cache.enabled", denyCache)) {
      for (String path : new String[] {"/who/route", "/who/argument?who=me"}) {
        assertThat(decided(server, 2, "GET", path)).containsExactly("200 STORE", "429 STORE");
        List<String> more = decided(server, 5, "GET", path);
        if (denyCache) { // which checks with Redis once in a second
          assertThat(more).contains("429 DENY_CACHE");
        }
        assertThat(more).isSubsetOf("429 STORE", denyCache ? "429 DENY_CACHE" : "429 STORE");
      }
      assertThat(decided(server, 3, "POST", "/who/duplicate"))
          .containsExactly("200 STORE", "409 STORE", "409 STORE");
      assertNotThere(200, server.get("/who/unlimited"));
      assertNotThere(200, server.get("/who/inner"));
      assertThat(decided(server, 1, "GET", "/who/inner")).containsExactly("429 STORE");
    }
  }

  @ParameterizedTest
  @CsvSource({"true,true", "true,false", "false,true", "false,false"})
  void noRequestSwitchesItOn(boolean gate, boolean denyCache) {
    try (TestServer server =
        start("limiter.gate.enabled", gate, "limiter.deny-cache.enabled", denyCache)) {
      for (int expected : new int[] {200, 429, 429}) {
        assertNotThere(expected, server.get("/who/route", ASKED));
        assertNotThere(expected, server.get("/who/argument?who=me&debug=true", ASKED));
        assertNotThere(
            expected == 429 ? 409 : 200, server.exchange("POST", "/who/duplicate", "", ASKED));
      }
    }
  }

  private static void assertNotThere(int status, HttpResponse<String> response) {
    assertThat(response.statusCode()).isEqualTo(status);
    assertThat(response.headers().map()).doesNotContainKey("x-decided-by");
  }

  @ParameterizedTest
  @CsvSource({"true,local", "true,allow", "true,deny", "false,local", "false,allow", "false,deny"})
  void afterTheFallbackItStatesTheReason(boolean gate, String fallback) {
    try (RedisProcess redis = RedisProcess.onFreePort().start();
        TestServer server =
            start(
                DEBUG,
                true,
                "limiter.gate.enabled",
                gate,
                "limiter.fallback",
                fallback,
                "redis.uri",
                redis.uri())) {
      redis.kill();
      int first = fallback.equals("deny") ? 503 : 200;
      int second = fallback.equals("local") ? 429 : first;

      List<String> decided = decided(server, 2, "GET", "/who/route");

      assertThat(decided.get(0)).startsWith(first + " FALLBACK (").endsWith(")");
      assertThat(decided.get(1)).startsWith(second + " FALLBACK (").endsWith(")");
      assertThat(decided)
          .extracting(text -> text.substring(text.indexOf('(') + 1, text.length() - 1))
          .isSubsetOf(Stream.of(FailureReason.values()).map(Enum::name).toList());
    }
  }

  @Test
  void itNeedsNoOtherField() {
    try (TestServer server =
        start(
            DEBUG, true, "limiter.headers.format", "none", "limiter.headers.retry-after", false)) {
      assertThat(decided(server, 2, "GET", "/who/route")).containsExactly("200 STORE", "429 STORE");
      assertThat(server.get("/who/route").headers().map())
          .doesNotContainKeys("ratelimit", "ratelimit-policy", "retry-after");
    }
  }

  @Test
  void nothingDecidesACallThatIsChargedNothing() {
    try (TestServer server =
        start(DEBUG, true, "limiter.exempt.addresses", List.of("127.0.0.1", "::1"))) {
      assertThat(decided(server, 2, "GET", "/who/route")).containsExactly("200 NONE", "200 NONE");
    }
  }

  @Test
  void aFieldOfTheApplicationIsKept() {
    try (TestServer server = start(DEBUG, true)) {
      assertThat(decided(server, 2, "GET", "/who/own")).containsExactly("200 another", "429 STORE");
    }
  }
}
