// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisFixture;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.Tiers;
import io.limiter.micronaut.plan.PolicyPlan;
import io.limiter.micronaut.testing.HttpService;
import io.limiter.micronaut.testing.Sources;
import io.limiter.micronaut.testing.StatedCallers;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Order;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import jakarta.inject.Singleton;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Members of policies and routes in files, over Redis, on two instances of a service. */
class ConfiguredMembersTest {

  private static final String SPEC = "ConfiguredMembersTest";

  private static final String GUESSES =
      """
      limiter:
        policies:
          guesses:
            before-security: true
            failed-on: [401]
            rules: [{count: 3, time: 60s, counts: failures}]
        routes:
          - {path: "/**", except: ["/m/user/**", "/m/argument"], policy: guesses}
      """;

  private static final String ANONYMOUS =
      """
      limiter:
        policies:
          quota:
            limit-type: user-id
            rules: [{count: 3, time: 60s}]
            anonymous-rules: [{count: 1, time: 60s}]
        routes:
          - {path: "/m/open", policy: quota}
      """;

  private static final String OBSERVED =
      """
      limiter:
        policies:
          tried:
            rules:
              - {count: 2, time: 60s, name: enforced}
              - {count: 1, time: 60s, name: tried, observe: true}
        routes:
          - {path: "/m/open", policy: tried}
      """;

  private static final String CLOSED =
      """
      limiter:
        policies:
          closed:
            rules:
              - {count: 5, time: 60s}
              - {count: 0, token-bucket: {refill: 5}}
        routes:
          - {path: "/m/open", policy: closed}
      """;

  @Controller("/m")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/secret")
    String secret() {
      return "secret";
    }

    @Get("/open")
    String open() {
      return "open";
    }

    @Get("/user/quota")
    @RateLimiter(value = "user-quota", limitType = LimitType.USER_ID, rules = @RateRule(count = 2))
    String ofUser() {
      return "quota";
    }

    @Get("/argument{?who}")
    @RateLimiter(subject = "#{T(java.util.Objects).toString(who)}", rules = @RateRule(count = 2))
    String ofArgument(String who) {
      return "argument";
    }
  }

  /** Answers as security does: on every path, whether there is a route or not. */
  @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
  @Requires(property = "test.passwords")
  static class Security {

    @RequestFilter
    @Order(39_000)
    Optional<HttpResponse<?>> authenticate(HttpRequest<?> request) {
      return "right".equals(request.getHeaders().get("X-Password"))
          ? Optional.empty()
          : Optional.of(HttpResponse.unauthorized());
    }
  }

  private static HttpService start(String yaml, Map<String, Object> redis, Object... more) {
    Map<String, Object> settings = new HashMap<>(Sources.yaml(yaml));
    settings.put("test.stated-callers", true);
    settings.putAll(redis);
    settings.putAll(HttpService.settings(more));
    return HttpService.start(SPEC, settings);
  }

  private static Map<String, Object> redis() {
    return Map.of(
        "redis.uri",
        RedisFixture.uri(),
        "limiter.redis.key-prefix",
        "members:" + UUID.randomUUID().toString().substring(0, 8) + ':',
        "limiter.redis.deadline",
        "10s");
  }

  @ParameterizedTest
  @CsvSource({"/m/secret, 200", "/nothing, 404"})
  void guessesOnEveryPathCountBeforeSecurityOnBothInstances(String path, int found) {
    Map<String, Object> redis = redis();
    try (HttpService one = start(GUESSES, redis, "test.passwords", true);
        HttpService other = start(GUESSES, redis, "test.passwords", true)) {
      assertThat(one.status(path, "X-Password", "right")).isEqualTo(found);
      assertThat(one.status(path)).isEqualTo(401);
      assertThat(other.status("/m/secret")).isEqualTo(401);
      assertThat(one.status("/elsewhere")).isEqualTo(401);

      assertThat(other.status(path, "X-Password", "right")).isEqualTo(429);
      assertThat(one.status(path, "X-Password", "right")).isEqualTo(429);
      assertThat(one.status(path, "X-Password", "right", StatedCallers.ADDRESS, "192.0.2.77"))
          .isEqualTo(found);
    }
  }

  @Test
  void anExceptedPathIsLimitedInEveryOtherSpelling() {
    try (HttpService service =
        start(
            GUESSES.replace("/m/user/**\", ", "/m/open\", \"/m/user/**\", "),
            Map.of(),
            "test.passwords",
            true)) {
      for (int i = 0; i < 5; i++) {
        assertThat(service.status("/m/open")).isEqualTo(401);
      }
      for (int i = 0; i < 3; i++) {
        assertThat(service.status("/m/secret/%2e%2e/open")).isEqualTo(401);
      }
      assertThat(service.status("/m/secret", "X-Password", "right")).isEqualTo(429);
      assertThat(service.status("/m/open", "X-Password", "right")).isEqualTo(200);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"/m/user/**\" | one is decided before security and the other needs arguments that are bound after it",
        "\"/m/argument\" | one is decided before security and the other counts the user, who is known only after it",
      })
  void aPolicyBesideWhichAnotherNeedsWhatIsKnownLaterIsRejected(String except, String reason) {
    String yaml = GUESSES.replace("\"/m/user/**\", \"/m/argument\"", except);

    assertThatThrownBy(() -> start(yaml, Map.of()).close())
        .hasStackTraceContaining("limiter.routes[0].path = /** in ")
        .hasStackTraceContaining(reason);
  }

  @Test
  void anExceptionBeginsWithASlash() {
    assertThatThrownBy(() -> start(GUESSES.replace("\"/m/user/**\"", "m"), Map.of()).close())
        .hasStackTraceContaining("limiter.routes[0].except = m,/m/argument in ")
        .hasStackTraceContaining("a path begins with a slash");
  }

  @Test
  void anonymousCallersHaveNumbersOfTheirOwnOnBothInstances() {
    Map<String, Object> redis = redis();
    try (HttpService one = start(ANONYMOUS, redis);
        HttpService other = start(ANONYMOUS, redis)) {
      assertThat(field(one.get("/m/open"), "RateLimit")).startsWith("\"1-per-60s\";r=0");
      assertThat(other.status("/m/open")).isEqualTo(429);
      for (int left = 2; left >= 0; left--) {
        assertThat(field(other.get("/m/open", StatedCallers.USER, "ann"), "RateLimit"))
            .startsWith("\"3-per-60s\";r=" + left);
      }
      assertThat(one.status("/m/open", StatedCallers.USER, "ann")).isEqualTo(429);
    }
  }

  @Test
  void aPlaceholderInTheListForAnonymousCallersIsResolved() {
    try (HttpService service =
        start(ANONYMOUS.replace("count: 1,", "count: \"${TEST_ANONYMOUS:2}\","), Map.of())) {
      assertThat(service.status("/m/open")).isEqualTo(200);
      assertThat(service.status("/m/open")).isEqualTo(200);
      assertThat(service.status("/m/open")).isEqualTo(429);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "limit-type: user-id | limit-type: ip | limiter.policies.quota.anonymous-rules | only limitType = USER_ID or HEADER and a resolver have anonymous callers",
        "count: 1, | cuont: 1, | anonymous-rules[0].cuont = 1 | did you mean count",
        "[{count: 1, time: 60s}] | {count: 1} | anonymous-rules.count = 1 | write a list of rules",
      })
  void aMistakeInThemIsReported(String text, String mistake, String where, String remedy) {
    assertThatThrownBy(() -> start(ANONYMOUS.replace(text, mistake), Map.of()).close())
        .hasStackTraceContaining(where)
        .hasStackTraceContaining(remedy);
  }

  @Test
  void anObservedRuleCountsBesideEnforcedOnesAndDeniesNothing() {
    Map<String, Object> redis = redis();
    try (HttpService one = start(OBSERVED, redis);
        HttpService other = start(OBSERVED, redis);
        RecordedLog lines = RecordedLog.ofInfo(PolicyPlan.class)) {
      assertThat(field(one.get("/m/open"), "RateLimit"))
          .contains("\"enforced\";r=1", "\"tried\";r=0");
      assertThat(lines.messages()).isEmpty();
      assertThat(other.status("/m/open")).isEqualTo(200);
      assertThat(lines.messages())
          .containsExactly(
              "Rules of the policy 'tried' are only observed. Calls that they would have denied since the last message: 1");
      assertThat(one.status("/m/open")).isEqualTo(429);
    }
  }

  @Test
  void aRuleIsEnforcedAgainBySettingObserveToFalse() {
    String yaml = OBSERVED.replace("observe: true", "observe: \"${TEST_OBSERVED:false}\"");
    try (HttpService service = start(yaml, Map.of())) {
      assertThat(service.status("/m/open")).isEqualTo(200);
      assertThat(service.status("/m/open")).isEqualTo(429);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aCountOfZeroAdmitsNoCallWithTheAnswerOfABlock(boolean overRedis) {
    try (HttpService service = start(CLOSED, overRedis ? redis() : Map.of())) {
      for (int call = 0; call < 3; call++) {
        var denied = service.get("/m/open", "Accept-Language", "en");
        assertThat(denied.statusCode()).isEqualTo(403);
        assertThat(denied.body()).contains("This caller is blocked", "\"blocked\"");
        assertThat(field(denied, "RateLimit")).contains("\"5-per-60s\";r=5", "\"0-per-60s\";r=0");
        assertThat(denied.headers().firstValue("Retry-After")).isEmpty();
      }
    }
  }

  @Test
  void thePolicyHasItsOwnAnswerAlsoWhereItIsClosed() {
    String yaml =
        CLOSED.replace("    rules:", "    status: 423\n      message: Closed\n      rules:");
    try (HttpService service = start(yaml, Map.of())) {
      assertThat(service.get("/m/open").statusCode()).isEqualTo(423);
      assertThat(service.get("/m/open").body()).contains("Closed");
    }
  }

  @Test
  void aCountOfZeroOfASingleRuleIsAMistake() {
    String count = "limiter.policies.user-quota.rules.2-per-60s.count";
    assertThatThrownBy(() -> start("limiter: {}", Map.of(), count, 0).close())
        .hasStackTraceContaining(count + " = 0 in ")
        .hasStackTraceContaining("set it to 1 or more");
  }

  private static final String BLOCKED =
      """
      limiter:
        block: {addresses: ["192.0.2.66"]}
        denial: {body: problem}
      """;

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "problem     | 403 | en    | \"title\":\"Forbidden\",\"status\":403,\"detail\":\"This caller is blocked\"",
        "problem     | 430 | zh-CN | \"status\":430,\"detail\":\"该调用者已被禁止访问\"",
        "application | 403 | zh-CN | 该调用者已被禁止访问",
        "application | 430 | en    | This caller is blocked",
      })
  void aBlockedCallerReceivesTheBodyOfDenialsInItsLanguage(
      String form, int status, String language, String expected) {
    String yaml = BLOCKED.replace("problem", form).replace("66\"]", "66\"], status: " + status);
    try (HttpService service = start(yaml, Map.of())) {
      var blocked =
          service.get("/m/open", StatedCallers.ADDRESS, "192.0.2.66", "Accept-Language", language);
      assertThat(blocked.statusCode()).isEqualTo(status);
      assertThat(field(blocked, "Date")).isNotEmpty();
      assertThat(blocked.body()).contains(expected);
      assertThat(service.status("/m/open")).isEqualTo(200);
    }
  }

  @Test
  void aBadRequestReceivesTheBodyOfDenials() {
    String template =
        """
        limiter:
          anonymous: reject
          denial: {body: template, template: {code: "{code}", text: "{message}", limit: "{limit}"}}
        """;
    try (HttpService service = start(template, Map.of())) {
      var missing = service.get("/m/user/quota", "Accept-Language", "en");
      assertThat(missing.statusCode()).isEqualTo(400);
      assertThat(field(missing, "Date")).isNotEmpty();
      assertThat(missing.body())
          .contains(
              "\"code\":\"missing_subject\"",
              "\"text\":\"A value required for rate limiting is missing\"",
              "\"limit\":null");
    }
  }

  @Test
  void anUnknownKeyOfTheMessageForBlockedCallersStopsTheStart() {
    String yaml = BLOCKED.replace("66\"]", "66\"], message: \"{no.such}\"");
    assertThatThrownBy(() -> start(yaml, Map.of()).close())
        .hasStackTraceContaining("limiter.block.message = {no.such}");
  }

  @Singleton
  @Requires(property = "test.plans")
  static class Plans implements Tiers {

    final List<String> asked = new CopyOnWriteArrayList<>();

    @Override
    public CompletionStage<String> of(HttpRequest<?> request) {
      asked.add(request.getHeaders().get("X-Api-Key"));
      return CompletableFuture.completedFuture("pro");
    }
  }

  @Test
  void headersNameTheCallerOfATier() {
    String yaml =
        """
        limiter:
          tier-lookup: {headers: [X-Api-Key, X-Tenant]}
          policies:
            tiered:
              rules: [{count: 1, time: 60s}]
          tiers:
            pro:
              tiered: {rules: [{count: 3, time: 60s}]}
          routes:
            - {path: "/m/open", policy: tiered}
        """;
    try (HttpService service = start(yaml, redis(), "test.plans", true)) {
      for (int left = 2; left >= 0; left--) {
        assertThat(
                field(
                    service.get("/m/open", "X-Api-Key", "key-1", "X-Tenant", "shop"), "RateLimit"))
            .startsWith("\"3-per-60s\";r=" + left);
      }
      assertThat(service.bean(Plans.class).asked).as("remembered").containsExactly("key-1");
      assertThat(
              field(
                  service.get("/m/open", "X-Api-Key", "key-1", StatedCallers.ADDRESS, "192.0.2.7"),
                  "RateLimit"))
          .as("one header is missing")
          .startsWith("\"1-per-60s\";r=0");
      assertThat(service.bean(Plans.class).asked).hasSize(1);
    }
  }
}
