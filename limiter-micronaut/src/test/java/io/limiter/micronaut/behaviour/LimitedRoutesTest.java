// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static io.limiter.micronaut.testing.Json.json;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.behaviour.RouteKind.Decider;
import io.limiter.micronaut.testing.HttpService;
import java.net.http.HttpResponse;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What a caller sees of a limit, whatever the route and whichever door decides. */
class LimitedRoutesTest extends WithAndWithoutGate {

  private static final List<String> FIELDS = List.of("ratelimit-policy", "ratelimit");
  private static final String POLICY = "\"3-per-60s\";q=3;w=60, \"10-per-3600s\";q=10;w=3600";

  /** Seconds that are left of a minute and of an hour within half a minute. */
  private static final String LIMIT =
      "\"3-per-60s\";r=%s;t=(60|[345]\\d), \"10-per-3600s\";r=%s;t=(3600|35\\d\\d)";

  LimitedRoutesTest() {
    super(RoutesByRequest.SPEC);
  }

  static Stream<Arguments> allRoutes() {
    return Arrays.stream(RouteKind.values())
        .flatMap(kind -> Stream.of(Decider.values()).map(decider -> Arguments.of(kind, decider)));
  }

  @ParameterizedTest
  @MethodSource("allRoutes")
  void admitsExactlyTheCountAndSendsTheHeaderFields(RouteKind kind, Decider decider) {
    for (int left = 2; left >= 0; left--) {
      HttpResponse<String> answer = kind.call(server, decider);

      assertThat(answer.statusCode()).isEqualTo(kind.status);
      assertThat(answer.body()).isEqualTo(kind.body);
      assertThat(field(answer, "RateLimit-Policy")).isEqualTo(POLICY);
      assertThat(field(answer, "RateLimit")).matches(LIMIT.formatted(left, left + 7));
      assertThat(answer.headers().map()).doesNotContainKeys("retry-after", "cache-control");
    }
    assertDenied(kind.call(server, decider), kind.path(decider));
    assertDenied(kind.call(server, decider), kind.path(decider));
  }

  private static void assertDenied(HttpResponse<String> answer, String path) {
    assertThat(answer.statusCode()).isEqualTo(429);
    assertThat(field(answer, "RateLimit-Policy")).isEqualTo(POLICY);
    assertThat(field(answer, "RateLimit")).matches(LIMIT.formatted(0, 7));
    assertThat(field(answer, "Retry-After")).matches("60|[345]\\d");
    assertThat(field(answer, "Cache-Control")).isEqualTo("no-store");
    assertThat(field(answer, "Content-Type")).isEqualTo("application/json");
    assertThat(json(answer.body())).isEqualTo(json(body(path)));
  }

  private static String body(String path) {
    return """
    {"message":"Too Many Requests","logref":"rate_limited","_links":{"self":{"href":"%s","templated":false}},"_embedded":{"errors":[{"message":"Too many requests, try again later"}]}}"""
        .formatted(HttpService.path(path));
  }

  @ParameterizedTest
  @EnumSource(Decider.class)
  void countsHeadAsGet(Decider decider) {
    String path = RouteKind.SYNC.path(decider);

    HttpResponse<String> head = server.exchange("HEAD", path, "");
    assertThat(head.statusCode()).isEqualTo(200);
    assertThat(field(head, "RateLimit")).matches(LIMIT.formatted(2, 9));
    assertThat(field(server.get(path), "RateLimit")).matches(LIMIT.formatted(1, 8));

    server.get(path);
    HttpResponse<String> denied = server.exchange("HEAD", path, "");
    assertThat(denied.statusCode()).isEqualTo(429);
    assertThat(field(denied, "Retry-After")).matches("60|[345]\\d");
    assertThat(denied.body()).isEmpty();
  }

  @ParameterizedTest
  @EnumSource(Decider.class)
  void countsEachRouteByItself(Decider decider) {
    for (RouteKind kind : RouteKind.values()) {
      assertThat(field(kind.call(server, decider), "RateLimit")).matches(LIMIT.formatted(2, 9));
    }
  }

  @Test
  void countsEachArgumentByItself() {
    for (int call = 0; call < 4; call++) {
      server.get("/by-argument/sync?who=alice");
    }

    assertThat(server.get("/by-argument/sync?who=alice").statusCode()).isEqualTo(429);
    assertThat(server.get("/by-argument/sync?who=bob").statusCode()).isEqualTo(200);
  }

  @Test
  void leavesUnlimitedRoutesAlone() {
    HttpResponse<String> answer = server.get("/by-request/unlimited");

    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(answer.headers().map()).doesNotContainKeys("ratelimit", "ratelimit-policy");
    assertThat(server.keys().all()).isEmpty();
  }

  @ParameterizedTest
  @EnumSource(Decider.class)
  void leavesRequestsWithoutARouteAlone(Decider decider) {
    HttpResponse<String> unknown = server.get(decider.path + "/unknown");
    HttpResponse<String> otherMethod = server.exchange("DELETE", RouteKind.SYNC.path(decider), "");

    assertThat(unknown.statusCode()).isEqualTo(404);
    assertThat(otherMethod.statusCode()).isEqualTo(405);
    assertThat(Stream.of(unknown, otherMethod))
        .allSatisfy(
            answer ->
                assertThat(answer.headers().map().keySet()).doesNotContainAnyElementsOf(FIELDS));
    assertThat(server.keys().all()).isEmpty();
  }

  @Test
  void storesOneKeyForASubjectOfARouteThatExpires() {
    server.get("/by-request/sync");
    server.get("/by-request/sync");
    server.get("/by-argument/sync?who=alice");
    server.get("/by-argument/sync?who=bob");

    assertThat(server.keys().all()).hasSize(3);
    assertThat(server.keys().all().values()).allMatch(stored -> stored.expiry() > 0);
  }

  /**
   * The gate counts a call before its body is read; {@link GateDifferencesTest} has all in which
   * the two doors differ.
   */
  @Test
  void countsACallWhoseBodyCannotBeBoundOnlyIfTheGateDecidesIt() {
    HttpResponse<String> broken = server.post("/by-request/body", "{\"item\":");

    assertThat(broken.statusCode()).isEqualTo(400);
    assertThat(broken.headers().firstValue("RateLimit").isPresent()).isEqualTo(gate);
    String next = field(server.post("/by-request/body", "{\"item\":\"a\"}"), "RateLimit");
    assertThat(next).matches(gate ? LIMIT.formatted(1, 8) : LIMIT.formatted(2, 9));
  }

  @Test
  void neverCountsACallWhoseSubjectCannotBeBound() {
    assertThat(server.get("/by-argument/sync").statusCode()).isEqualTo(400);
    assertThat(server.post("/by-argument/body?who=alice", "{\"item\":").statusCode())
        .isEqualTo(400);
    assertThat(server.keys().all()).isEmpty();
  }

  @ParameterizedTest
  @EnumSource(Decider.class)
  void deniesABigBodyAndKeepsTheConnectionUsable(Decider decider) {
    String big = "{\"item\":\"" + "x".repeat(200_000) + "\"}";
    String path = RouteKind.BODY.path(decider);
    for (int call = 0; call < 3; call++) {
      assertThat(server.post(path, big).statusCode()).isEqualTo(200);
    }

    for (int call = 0; call < 5; call++) {
      assertThat(server.post(path, big).statusCode()).isEqualTo(429);
    }
    assertThat(server.get("/by-request/unlimited").body()).isEqualTo("ok");
  }
}
