// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import static io.limiter.micronaut.testing.Json.json;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.limiter.core.Limiter;
import io.limiter.core.testing.RedisFixture;
import io.limiter.micronaut.annotation.Ban;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.Tiers;
import io.limiter.micronaut.plan.LimitPolicies;
import io.limiter.micronaut.testing.HttpService;
import io.limiter.micronaut.testing.Sources;
import io.limiter.micronaut.testing.StatedCallers;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A subject that was counted in several tiers is reset in all of them. */
class ResetInEachTierTest {

  private static final String SPEC = "ResetInEachTierTest";

  /** Each tier counts over another window, so each has a value of its own. */
  private static final String TIERS =
      """
      limiter:
        tiers:
          default: free
          free: {news: {rules: [{count: 2, time: 1h}]}}
          pro: {news: {rules: [{count: 3, time: 2h}]}, orders: {rules: [{count: 3, time: 2h}]}}
          max: {news: {rules: [{count: 4, time: 1h, algorithm: fixed-window}]}}
          internal: {news: unlimited, orders: unlimited}
        tier-lookup: {cache-time: 0s}
      endpoints: {limits: {enabled: true, sensitive: false}}
      """;

  @Controller("/tiers")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {
    @Get("/news")
    @RateLimiter(
        value = "news",
        limitType = LimitType.USER_ID,
        rules = @RateRule(count = 2, time = 3_600),
        ban = @Ban(violations = 3, within = 3_600, time = 3_600))
    String news() {
      return "news";
    }

    @Get("/orders")
    @RateLimiter(
        value = "orders",
        limitType = LimitType.USER_ID,
        rules = @RateRule(count = 2, time = 3_600),
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(count = 1, time = 3_600),
        duplicate = @Duplicate(by = DuplicateBy.CALLER))
    String orders() {
      return "ordered";
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class StatedTiers implements Tiers {
    @Override
    public CompletionStage<String> of(HttpRequest<?> request) {
      return CompletableFuture.completedFuture(request.getHeaders().get("X-Tier"));
    }
  }

  private static HttpService start(boolean redis) {
    Map<String, Object> settings =
        HttpService.settings("test.stated-callers", true, "limiter.deny-cache.enabled", true);
    settings.putAll(Sources.yaml(TIERS));
    if (redis) {
      settings.put("redis.uri", RedisFixture.uri());
      settings.put(
          "limiter.redis.key-prefix", "test:" + UUID.randomUUID().toString().substring(0, 8) + ":");
      settings.put("limiter.redis.deadline", "10s");
      settings.put("limiter.redis.start-timeout", "10s");
    }
    return HttpService.start(SPEC, settings);
  }

  private static int admitted(HttpService server, String tier) {
    int admitted = 0;
    while (admitted < 6
        && server.status("/tiers/news", StatedCallers.USER, "ada", "X-Tier", tier) == 200) {
      admitted++;
    }
    return admitted;
  }

  /** Each of three tiers denies once, so the last denial begins a ban, which holds in all tiers. */
  private static void useUp(HttpService server) {
    assertThat(admitted(server, "max")).isEqualTo(4);
    assertThat(admitted(server, "pro")).isEqualTo(3);
    assertThat(admitted(server, "free")).isEqualTo(2);
    assertThat(admitted(server, "max")).isZero();
    assertThat(change(server, "news/look", "pro").get("outcome")).hasToString("\"banned\"");
  }

  private static JsonNode change(HttpService server, String path, String tier) {
    HttpResponse<String> answer =
        server.post("/limits/" + path, "{\"user\": \"ada\", \"tier\": \"%s\"}".formatted(tier));
    assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
    return json(answer.body());
  }

  private static void assertFresh(HttpService server) {
    assertThat(admitted(server, "free")).isEqualTo(2);
    assertThat(admitted(server, "pro")).isEqualTo(3);
    assertThat(admitted(server, "max")).isEqualTo(4);
  }

  @ParameterizedTest
  @CsvSource({"true, pro", "true, max", "true, internal", "false, pro", "false, internal"})
  void theEndpointResetsAllTiersAndTheBan(boolean redis, String asked) {
    try (HttpService server = start(redis)) {
      useUp(server);
      assertThat(change(server, "news/reset", asked).at("/after/passes").asBoolean()).isTrue();
      assertFresh(server);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void codeResetsAllTiersAndTheBan(boolean redis) {
    try (HttpService server = start(redis)) {
      useUp(server);
      server
          .bean(Limiter.class)
          .reset(server.bean(LimitPolicies.class).get("news").forUser("ada"))
          .toCompletableFuture()
          .join();
      assertFresh(server);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"pro", "internal"})
  void aLiftedBanEndsInAllTiersAndWhatWasCountedStays(String asked) {
    try (HttpService server = start(true)) {
      useUp(server);
      change(server, "news/lift-ban", asked);
      for (String tier : new String[] {"free", "pro", "max"}) {
        assertThat(change(server, "news/look", tier).get("outcome")).hasToString("\"limited\"");
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"pro", "internal"})
  void theDuplicateGuardIsResetInAnyTier(String asked) {
    try (HttpService server = start(true)) {
      String[] ada = {StatedCallers.USER, "ada", "X-Tier", "free"};
      assertThat(server.status("/tiers/orders", ada)).isEqualTo(200);
      assertThat(server.status("/tiers/orders", ada)).isEqualTo(409);
      change(server, "orders/reset", asked);
      assertThat(server.status("/tiers/orders", ada)).isEqualTo(200);
    }
  }

  @Test
  void inATierWithoutLimitsALookShowsTheUsualRulesWhichDenyNothing() {
    try (HttpService server = start(false)) {
      admitted(server, "free");
      JsonNode look = change(server, "news/look", "internal");
      assertThat(look.get("passes").asBoolean()).isTrue();
      assertThat(look.at("/rules/0/rule").asText()).isEqualTo("2-per-3600s");
      assertThat(look.at("/rules/0/wouldDeny").asBoolean()).isTrue();
    }
  }
}
