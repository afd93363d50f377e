// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.micronaut.annotation.LimitCondition;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.annotation.Tiers;
import io.limiter.micronaut.plan.LimitPolicies;
import io.limiter.micronaut.testing.Sources;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.exceptions.HttpStatusException;
import jakarta.inject.Named;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A policy keeps its own treatment wherever it stands: each member of a policy, in each place, by
 * requests.
 */
class PolicyTableTest {

  private static final String SPEC = "PolicyTableTest";

  /** Where the policy {@code own} stands. */
  private enum Place {
    /** An annotation of that name. */
    ALONE("/table/annotated", List.of()),
    /** The only policy of a route. */
    ROUTE("/table/plain", List.of("own")),
    /** The first of two policies of a route. */
    FIRST("/table/plain", List.of("own", "wide")),
    /** The second of two. */
    SECOND("/table/plain", List.of("wide", "own")),
    /** Under an annotation of another name. */
    UNDER("/table/wide", List.of("own")),
    /** Beside another policy, since a refresh. */
    REFRESHED("/table/plain", List.of("wide", "own"));

    private final String path;
    private final List<String> policies;

    Place(String path, List<String> policies) {
      this.path = path;
      this.policies = policies;
    }
  }

  /**
   * A member, and what shows that it is in effect.
   *
   * @param yaml the policy
   * @param calls each as a query, a header and its value, and the status
   */
  private record Row(String member, String yaml, List<String> calls) {

    static Row of(String member, String yaml, String... calls) {
      return new Row(member, yaml, List.of(calls));
    }

    @Override
    public String toString() {
      return member;
    }
  }

  private static final List<Row> ROWS =
      List.of(
          Row.of("rules", "rules: [{count: 2, time: 60s}]", "200", "200", "429"),
          Row.of("observe", "{observe: true, rules: [{count: 1}]}", "200", "200", "200"),
          Row.of("enabled", "{enabled: false, rules: [{count: 1}]}", "200", "200"),
          Row.of("status", "{status: 420, rules: [{count: 1}]}", "200", "420"),
          Row.of("code", "{code: own_code, rules: [{count: 1}]}", "200", "429 own_code"),
          Row.of("message", "{message: Own words, rules: [{count: 1}]}", "200", "429 Own words"),
          Row.of(
              "failed-on", "{failed-on: [404], rules: [{count: 1, counts: failures}]}",
              "?status=400 400", "?status=400 400",
              "?status=404 404", "429"),
          Row.of(
              "ban", "{ban: {violations: 1, time: 60s}, rules: [{count: 1}]}", "200", "429 banned"),
          Row.of("duplicate", "{duplicate: {enabled: true, by: caller}}", "200", "409"),
          Row.of(
              "duplicate.status",
              "{duplicate: {enabled: true, time: 9s, by: caller, status: 410, code: twice}}",
              "200",
              "410 twice"),
          Row.of("cost", "{cost: 2, rules: [{count: 3}]}", "200", "429"),
          Row.of(
              "condition", "{condition: paying, rules: [{count: 1}]}",
              "X-Free:yes 200", "X-Free:yes 200",
              "200", "429"),
          Row.of(
              "header",
              "{header: X-Key, rules: [{count: 1}]}",
              "X-Key:a 200",
              "X-Key:b 200",
              "X-Key:a 429"),
          Row.of(
              "subject",
              "{subject: tenant, rules: [{count: 1}]}",
              "X-Tenant:a 200",
              "X-Tenant:b 200",
              "X-Tenant:a 429"),
          Row.of(
              "limit-type", "{limit-type: global, rules: [{count: 1}]}",
              "X-Address:192.0.2.7 200", "X-Address:192.0.2.8 429"),
          Row.of(
              "anonymous", "{header: X-Key, anonymous: reject, rules: [{count: 1}]}",
              "400", "X-Key:a 200"),
          Row.of("name", "rules: [{count: 1, name: mine}]", "200", "429 \"mine\";r=0"));

  static Stream<Arguments> cells() {
    return ROWS.stream()
        .flatMap(row -> Arrays.stream(Place.values()).map(place -> Arguments.of(row, place)));
  }

  @Controller("/table")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/annotated{?status}")
    @RateLimiter(value = "alone", rules = @RateRule(count = 1000))
    String annotated(@QueryValue Optional<Integer> status) {
      return plain(status);
    }

    @Get("/wide{?status}")
    @RateLimiter(value = "outer", rules = @RateRule(count = 999))
    String wide(@QueryValue Optional<Integer> status) {
      return plain(status);
    }

    @Get("/plain{?status}")
    String plain(@QueryValue Optional<Integer> status) {
      status.ifPresent(
          failed -> {
            throw new HttpStatusException(HttpStatus.valueOf(failed), "as asked");
          });
      return "ok";
    }

    @Get("/submitted")
    @RateLimiter(value = "submitted", preventDuplicate = true)
    String submitted() {
      return "ok";
    }

    @Get("/early")
    @RateLimiter(value = "early", beforeSecurity = true, rules = @RateRule(count = 5))
    String early() {
      return "ok";
    }
  }

  @Singleton
  @Named("paying")
  @Requires(property = "spec.name", value = SPEC)
  static class Paying implements LimitCondition {
    @Override
    public boolean limits(HttpRequest<?> request) {
      return !request.getHeaders().contains("X-Free");
    }
  }

  @Singleton
  @Named("tenant")
  @Requires(property = "spec.name", value = SPEC)
  static class Tenant implements SubjectResolver {
    @Override
    public Optional<String> resolve(HttpRequest<?> request) {
      return request.getHeaders().findFirst("X-Tenant");
    }
  }

  /** Callers have keys, as most have, and these name their tiers. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Plans implements Tiers {
    @Override
    public CompletionStage<String> of(HttpRequest<?> request) {
      return CompletableFuture.completedFuture(request.getHeaders().get("X-Plan"));
    }

    @Override
    public Optional<String> caller(HttpRequest<?> request) {
      return request.getHeaders().findFirst("X-Plan");
    }
  }

  private final Map<String, Object> changing = new ConcurrentHashMap<>();

  @ParameterizedTest(name = "{0} {1}")
  @MethodSource("cells")
  void aMemberIsInEffect(Row row, Place place) {
    Map<String, Object> settings = new LinkedHashMap<>(Sources.yaml(yaml(place, row.yaml)));
    if (place == Place.REFRESHED) {
      changing.putAll(settings);
      settings = new LinkedHashMap<>(Sources.yaml(yaml(place, "rules: [{count: 998}]")));
    }
    try (TestServer server = start(settings)) {
      if (place == Place.REFRESHED) {
        assertThat(server.status(place.path)).isEqualTo(200);
        server.bean(Changing.class).use(changing);
        assertThat(server.bean(LimitPolicies.class).refresh()).isTrue();
        server.clear();
      }
      for (String call : row.calls) {
        check(server, place.path, call);
      }
    }
  }

  /** As {@code ?query Header:value status text}; all but the status may be missing. */
  private static void check(TestServer server, String path, String call) {
    List<String> words = new ArrayList<>(List.of(call.split(" ", -1)));
    String query = words.get(0).startsWith("?") ? words.remove(0) : "";
    String[] header = words.get(0).contains(":") ? words.remove(0).split(":") : new String[0];
    int status = Integer.parseInt(words.remove(0));
    HttpResponse<String> response = server.get(path + query, header);
    assertThat(response.statusCode()).as(call).isEqualTo(status);
    assertThat(response.body() + response.headers().firstValue("RateLimit").orElse(""))
        .contains(String.join(" ", words));
  }

  private static String yaml(Place place, String policy) {
    StringBuilder routes = new StringBuilder(place.policies.isEmpty() ? " []" : "");
    for (String name : place.policies) {
      routes.append("\n    - {path: \"%s\", policy: %s}".formatted(place.path, name));
    }
    return """
        limiter:
          policies:
            %s: %s
        %s
        %s
        """
        .formatted(
            place == Place.ALONE ? "alone" : "own",
            policy.startsWith("{") ? policy : "{" + policy + "}",
            place.policies.contains("wide") ? "    wide: {rules: [{count: 997}]}" : "",
            place.policies.isEmpty() ? "" : "  routes:" + routes);
  }

  /** A source that a refresh reads again. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Changing {

    private final io.micronaut.context.env.Environment environment;

    Changing(io.micronaut.context.env.Environment environment) {
      this.environment = environment;
    }

    void use(Map<String, Object> settings) {
      environment.addPropertySource(
          io.micronaut.context.env.PropertySource.of("changed", settings, 1_000));
    }
  }

  private static TestServer start(Map<String, Object> settings) {
    Map<String, Object> all = new LinkedHashMap<>(settings);
    all.put("test.stated-callers", true);
    return TestServer.start(SPEC, all);
  }

  @ParameterizedTest
  @CsvSource({"/table/plain", "/table/wide"})
  void aTierChangesOnePolicyOfTwo(String path) {
    String yaml =
        """
        limiter:
          policies:
            own: {message: Own words, rules: [{count: 1}]}
            wide: {rules: [{count: 997}]}
          tiers:
            pro: {own: {rules: {1-per-60s: {count: 3}}}}
            staff: {own: unlimited}
          routes:
            - {path: "%s", policy: wide}
            - {path: "%s", policy: own}
        """
            .formatted(path, path);
    try (TestServer server = start(Sources.yaml(yaml))) {
      check(server, path, "200");
      check(server, path, "429 Own words");
      check(server, path, "X-Plan:pro 200");
      check(server, path, "X-Plan:pro 200");
      check(server, path, "X-Plan:pro 429 Own words");
      check(server, path, "X-Plan:staff 200");
    }
  }

  /** What several policies deny is answered as that with the longest wait has it. */
  @Test
  void theAnswerIsThatOfTheLongestWait() {
    String yaml =
        """
        limiter:
          policies:
            own: {status: 420, code: minute, rules: [{count: 1, time: 60s}]}
            wide: {status: 421, code: hour, rules: [{count: 1, time: 1h}]}
          routes:
            - {path: "/table/plain", policy: own}
            - {path: "/table/plain", policy: wide}
        """;
    try (TestServer server = start(Sources.yaml(yaml))) {
      check(server, "/table/plain", "200");
      check(server, "/table/plain", "421 hour");
    }
  }

  @ParameterizedTest
  @CsvSource({"deny, 503", "local, 200", "allow, 200"})
  void theStrictestFallbackHolds(String fallback, int status) {
    String yaml =
        """
        limiter:
          policies:
            own: {fallback: %s, rules: [{count: 5}]}
            wide: {fallback: allow, rules: [{count: 997}]}
            seen: {observe: true, fallback: deny, rules: [{count: 997}]}
          routes:
            - {path: "/table/plain", policy: wide}
            - {path: "/table/plain", policy: own}
            - {path: "/table/plain", policy: seen}
        """
            .formatted(fallback);
    Map<String, Object> settings = new LinkedHashMap<>(Sources.yaml(yaml));
    settings.put("redis.uri", "redis://127.0.0.1:1");
    settings.put("limiter.redis.start-timeout", "0s");
    settings.put("limiter.redis.deadline", "50ms");
    try (TestServer server = start(settings)) {
      assertThat(server.status("/table/plain")).isEqualTo(status);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "/table/submitted | {duplicate: {enabled: true}} | both have a duplicate guard",
        "/table/** | {duplicate: {enabled: true}, rules: [{count: 5}]} | both have a duplicate guard",
        "/table/early | {limit-type: user-id, rules: [{count: 5}]} | one is decided before security",
        "/*/early | {limit-type: user-id, rules: [{count: 5}]} | one is decided before security",
      })
  void whatCannotBeCombinedStopsTheStart(String path, String policy, String reason) {
    String yaml =
        """
        limiter:
          policies:
            own: %s
          routes:
            - {path: "%s", policy: own}
        """
            .formatted(policy, path);
    assertThatThrownBy(() -> start(Sources.yaml(yaml)).close())
        .hasMessageContaining("limiter.routes[0].path = " + path + " in ")
        .hasMessageContaining(reason);
  }

  @Test
  void aRefreshThatCannotBeCombinedIsRejected() {
    String yaml =
        """
        limiter:
          policies:
            own: {rules: [{count: 1}]}
          routes:
            - {path: "/table/submitted", policy: own}
        """;
    try (TestServer server = start(Sources.yaml(yaml))) {
      server.bean(Changing.class).use(Map.of("limiter.policies.own.duplicate.enabled", true));
      assertThat(server.bean(LimitPolicies.class).refresh()).isFalse();
      check(server, "/table/submitted", "200");
      check(server, "/table/submitted", "429");
    }
  }
}
