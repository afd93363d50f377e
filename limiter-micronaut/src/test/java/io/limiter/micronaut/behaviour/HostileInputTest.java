// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.MicronautVersion;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Introspected;
import io.micronaut.core.annotation.Nullable;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Header;
import io.micronaut.http.annotation.PathVariable;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.net.URLEncoder;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Any input of a client is limited, reveals nothing, and never causes an internal error. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class HostileInputTest {

  /** That of the application's parser: of Jackson 2 and, since Micronaut 5, of Jackson 3. */
  private static final int MAX_DEPTH = MicronautVersion.either(1_000, 500);

  private static final int MAX_KEY = 80;

  @AutoClose
  private final TestServer server =
      TestServer.start(
          HostileRoutes.SPEC, Map.of("micronaut.server.netty.max-initial-line-length", 32_768));

  @BeforeEach
  void forget() {
    server.clear();
  }

  static Stream<String> values() {
    return Stream.of(
            "\uD83D\uDE00\uD83D\uDC7E",
            "a\0b",
            "\r\nSET x y\r\n",
            "{tag}:*",
            "limiter:{x}:r",
            "../../etc/passwd",
            "#{T(java.lang.Runtime)}",
            "${jndi:ldap://x}",
            "%s%n%d",
            "' OR 1=1 --",
            "\u202Eevil\uFEFF",
            "x".repeat(7_000))
        .map(value -> URLEncoder.encode(value, StandardCharsets.UTF_8))
        .flatMap(value -> Stream.of(value, value.replace("+", "%20")))
        .distinct();
  }

  /** Bytes that are no UTF-8, and a surrogate without its other half. */
  static Stream<String> brokenValues() {
    return Stream.of("%FF%FE", "%ED%A0%80", "%C0%80", "%F4%90%80%80", "%00");
  }

  @ParameterizedTest
  @MethodSource({"values", "brokenValues"})
  void aValueOfAnySortIsCounted(String encoded) {
    for (String route : new String[] {"query", "query-mono", "query-flux"}) {
      String path = "/hostile/" + route + "?who=" + encoded;
      assertThat(server.get(path).statusCode()).isEqualTo(200);
      assertThat(server.get(path).statusCode()).isEqualTo(200);
      HttpResponse<String> denied = server.get(path);
      assertThat(denied.statusCode()).isEqualTo(429);
      assertThat(denied.headers().firstValue("RateLimit-Policy"))
          .contains("\"2-per-60s\";q=2;w=60");
    }
    assertThat(server.get("/hostile/query?who=neighbour").statusCode()).isEqualTo(200);
    assertShortAnonymousKeys("who", encoded.substring(0, Math.min(6, encoded.length())));
  }

  @ParameterizedTest
  @ValueSource(strings = {"query?who=", "query?who=%20%09", "query", "query-mono", "query-flux"})
  void aCallWithoutASubjectIsABadRequestAndNotAdmitted(String call) {
    HttpResponse<String> rejected = server.get("/hostile/" + call);

    assertThat(rejected.statusCode()).isEqualTo(400);
    assertThat(rejected.body()).doesNotContain("RateLimiter", "Exception", "io.limiter");
    assertThat(server.keys().all()).isEmpty();
  }

  @Test
  void aValueThatIsSentTwiceIsCountedAsOne() {
    for (int call = 0; call < 2; call++) {
      assertThat(server.get("/hostile/query?who=a&who=b").statusCode()).isEqualTo(200);
    }
    assertThat(server.get("/hostile/query?who=a&who=b").statusCode()).isEqualTo(429);
  }

  @Test
  void aHeaderOfSevenThousandBytesIsCounted() {
    String value = "h".repeat(7_000);
    for (int call = 0; call < 2; call++) {
      assertThat(server.get("/hostile/header", "X-Who", value).statusCode()).isEqualTo(200);
    }

    assertThat(server.get("/hostile/header", "X-Who", value).statusCode()).isEqualTo(429);
    assertShortAnonymousKeys("hhhh");
  }

  @Test
  void aHeaderThatTheServerRejectsIsNotCounted() {
    for (int call = 0; call < 3; call++) {
      HttpResponse<String> rejected = server.get("/hostile/header", "X-Who", "h".repeat(9_000));
      assertThat(rejected.statusCode()).isBetween(400, 499);
    }
    assertThat(server.keys().all()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"{", "{\"who\":", "{\"who\":\"\\ud8", "[1,2", "\"who\"", "\0", "<who>a</who>"})
  void malformedJsonIsABadRequest(String json) {
    for (String route : new String[] {"body", "submission"}) {
      for (int call = 0; call < 3; call++) {
        HttpResponse<String> rejected = server.post("/hostile/" + route, json);
        assertThat(rejected.statusCode()).as(route + " " + json).isEqualTo(400);
        assertThat(rejected.body()).doesNotContain("io.limiter", "\tat ");
      }
    }
    assertThat(server.keys().all()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{}",
        "{\"who\":null}",
        "{\"who\":\"\"}",
        "{\"who\":{\"a\":1}}",
        "{\"who\":[\"a\"]}",
        "null"
      })
  void aBodyWithoutASubjectIsABadRequest(String json) {
    assertThat(server.post("/hostile/body", json).statusCode()).isEqualTo(400);
    assertThat(server.keys().all()).isEmpty();
  }

  @Test
  void halfACharacterIsNotTheQuestionMarkThatStandsForIt() {
    for (int call = 0; call < 3; call++) {
      server.post("/hostile/body", "{\"who\":\"\\ud800\"}");
    }

    assertThat(server.post("/hostile/body", "{\"who\":\"\\ud800\"}").statusCode()).isEqualTo(429);
    assertThat(server.post("/hostile/body", "{\"who\":\"?\"}").statusCode()).isEqualTo(200);
    assertThat(server.post("/hostile/body", "{\"who\":\"\\udbff\"}").statusCode()).isEqualTo(200);
  }

  @Test
  void deepAndLongSubmissionsAreLimitedAsAnyOther() {
    int depth = MAX_DEPTH - 100;
    String deep = "{\"a\":" + "[".repeat(depth) + "]".repeat(depth) + "}";
    String longText = "{\"a\":\"" + "x".repeat(500_000) + "\"}";

    assertThat(server.post("/hostile/submission", deep).statusCode()).isEqualTo(200);
    assertThat(server.post("/hostile/submission", deep).statusCode()).isEqualTo(409);
    assertThat(server.post("/hostile/submission", longText).statusCode()).isEqualTo(200);
    assertThat(server.post("/hostile/submission", "{\"a\":1}").statusCode()).isEqualTo(429);
    assertShortAnonymousKeys("xxxx");
  }

  /** Up to what the JSON parser takes. What cannot be compared is a bad request, and counted. */
  @ParameterizedTest
  @CsvSource({
    "submission, 50",
    "submission, 300",
    "submission, 990",
    "submission, 5000",
    "submission-mono, 990",
    "submission-typed, 50",
    "submission-typed, 300"
  })
  void deepObjectsAreComparedOrRejectedAndCounted(String route, int depth) {
    String deep = "{\"a\":".repeat(depth) + "null" + "}".repeat(depth);

    int status = server.post("/hostile/" + route, deep).statusCode();

    assertThat(status).isIn(200, 400);
    assertThat(server.post("/hostile/" + route, deep).statusCode())
        .isEqualTo(status == 200 ? 409 : 400);
    if (status == 400 && depth < MAX_DEPTH) { // it was read
      assertThat(server.post("/hostile/" + route, deep).statusCode()).isEqualTo(429);
    }
  }

  /**
   * Micronaut reads a bean by recursion. How deep it comes before a StackOverflowError depends on
   * what is compiled by then, so a limited call may overflow where the one before it did not.
   */
  @Test
  void beansThatAreTooDeepForMicronautFailAndTheNextCallDoesNot() {
    int depth = MAX_DEPTH - 10;
    String deep = "{\"a\":".repeat(depth) + "null" + "}".repeat(depth);

    assertThat(server.post("/hostile/free-typed", deep).statusCode()).isIn(200, 500);
    assertThat(server.post("/hostile/submission-typed", deep).statusCode()).isIn(200, 400, 500);

    assertThat(server.post("/hostile/submission-typed", "{\"a\":null}").statusCode())
        .isEqualTo(200);
    assertThat(server.post("/hostile/submission-typed", "{\"a\":null}").statusCode())
        .isIn(409, 429);
  }

  private void assertShortAnonymousKeys(String... parts) {
    Map<String, RedisKeys.Stored> all = server.keys().all();
    assertThat(all).isNotEmpty();
    assertThat(all.keySet())
        .allSatisfy(
            key -> {
              assertThat(key.getBytes(StandardCharsets.UTF_8)).hasSizeLessThanOrEqualTo(MAX_KEY);
              assertThat(key).doesNotContain(parts).matches("test:\\w+:\\{[\\w-]{22}}:[\\w.-]+");
            });
    assertThat(all.values()).allMatch(stored -> stored.expiry() > 0);
  }

  /** Routes whose subject is whatever a caller sends; two calls a minute for each. */
  @Controller("/hostile")
  @Requires(property = "spec.name", value = HostileRoutes.SPEC)
  static class HostileRoutes {

    /** Two a minute, and the same one once. */
    @Retention(RetentionPolicy.RUNTIME)
    @RateLimiter(
        rules = @RateRule(count = 2, time = 60),
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(count = 1, time = 60),
        duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    @interface SubmittedOnce {}

    static final String SPEC = "Hostile";

    @Get("/query")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 2, time = 60))
    String query(@QueryValue String who) {
      return "ok";
    }

    @Get("/query-mono")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 2, time = 60))
    Mono<String> queryMono(@Nullable @QueryValue String who) {
      return Mono.just("ok");
    }

    @Get("/query-flux")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 2, time = 60))
    Flux<Integer> queryFlux(@Nullable @QueryValue String who) {
      return Flux.just(1);
    }

    @Get("/path/{who}")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 2, time = 60))
    String path(@PathVariable String who) {
      return "ok";
    }

    @Get("/header")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 2, time = 60))
    String header(@Header("X-Who") String who) {
      return "ok";
    }

    @Post("/body")
    @RateLimiter(subject = "#{order.get('who')}", rules = @RateRule(count = 2, time = 60))
    String body(@Nullable @Body Map<String, Object> order) {
      return "ok";
    }

    @Post("/submission")
    @SubmittedOnce
    String submission(@Body Map<String, Object> order) {
      return "ok";
    }

    @Post("/submission-mono")
    @SubmittedOnce
    Mono<String> submissionMono(@Body Map<String, Object> order) {
      return Mono.just("ok");
    }

    @Post("/submission-typed")
    @SubmittedOnce
    String submissionTyped(@Body Nested order) {
      return "ok";
    }

    @Post("/free-typed")
    String freeTyped(@Body Nested order) {
      return "ok";
    }

    /** As deep as its sender likes. */
    @Introspected
    record Nested(@Nullable Nested a) {}
  }
}
