// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Limiter;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.Tiers;
import io.limiter.micronaut.plan.LimitPolicies;
import io.limiter.micronaut.testing.HttpService;
import io.limiter.micronaut.testing.Sources;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.env.PropertySource;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Rules on trial: what they would deny of the calls that the rules beside them admit. */
class TrialTest {

  private static final String SPEC = "TrialTest";

  private static final String SETTINGS =
      """
      limiter:
        policies:
          routed:
            header: X-Key
            rules: [{count: 6, time: 60s}]
            trial: [{count: 3, time: 60s}]
        routes:
          - {path: "/tried/routed", policy: routed}
        tier-lookup: {headers: [X-Tier]}
        tiers:
          gold:
            annotated: {rules: [{count: 9, time: 60s}], trial: [{count: 8, time: 60s}]}
      """;

  @Controller("/tried")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/annotated")
    @RateLimiter(
        value = "annotated",
        header = "X-Key",
        rules = @RateRule(count = 6),
        trial = {@RateRule(count = 3), @RateRule(count = 4, algorithm = Algorithm.FIXED_WINDOW)})
    String annotated() {
      return "ok";
    }

    @Get("/routed")
    String routed() {
      return "ok";
    }

    /** The rules on trial are decided apart, by the guard. */
    @Get("/argument")
    @RateLimiter(
        value = "argument",
        header = "X-Key",
        early = true,
        rules = @RateRule(count = 6),
        trial = @RateRule(count = 3, subject = "#{who}"))
    String argument(@QueryValue String who) {
      return "ok";
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

  /** A source that changes, as that of a configuration server does. */
  private final Map<String, Object> changing = new ConcurrentHashMap<>();

  private HttpService start(boolean inRedis, boolean denyCache) {
    Map<String, Object> settings = new HashMap<>(Sources.yaml(SETTINGS));
    settings.put("micronaut.metrics.enabled", true);
    settings.put("limiter.deny-cache.enabled", denyCache);
    HttpService service =
        inRedis ? TestServer.start(SPEC, settings) : HttpService.start(SPEC, settings);
    service
        .context()
        .getEnvironment()
        .addPropertySource(PropertySource.of("changing", changing, 1));
    return service;
  }

  private static int denied(HttpService service, String path, String key, int calls) {
    int denied = 0;
    for (int call = 0; call < calls; call++) {
      denied += service.status(path, "X-Key", key) == 429 ? 1 : 0;
    }
    return denied;
  }

  private static double counted(HttpService service, String policy, String rule) {
    Counter counter =
        service
            .bean(MeterRegistry.class)
            .find("limiter.trial.denied")
            .tags("policy", policy, "rule", rule)
            .counter();
    return counter == null ? 0 : counter.count();
  }

  /** Of six calls that are admitted three would pass; those that are denied are not looked at. */
  @ParameterizedTest
  @CsvSource({
    "/tried/annotated, annotated, 3-per-60s, true, true",
    "/tried/annotated, annotated, 3-per-60s, true, false",
    "/tried/annotated, annotated, 3-per-60s, false, true",
    "/tried/routed, routed, 3-per-60s, true, true",
    "/tried/argument?who=ada, argument, 3-per-60s, true, true"
  })
  void whatWouldBeDeniedIsCounted(
      String path, String policy, String rule, boolean inRedis, boolean denyCache) {
    try (HttpService service = start(inRedis, denyCache)) {
      assertThat(denied(service, path, "ada", 9)).isEqualTo(3);
      assertThat(counted(service, policy, rule)).isEqualTo(3);
      assertThat(service.bean(MeterRegistry.class).find("limiter.observed").counters()).isEmpty();
      assertThat(denied(service, path.replace("ada", "bob"), "bob", 2)).isZero();
      assertThat(counted(service, policy, rule)).isEqualTo(3);
    }
  }

  /** Neither in header fields nor in what is left of the rules that are enforced. */
  @ParameterizedTest
  @ValueSource(strings = {"/tried/annotated", "/tried/routed", "/tried/argument?who=ada"})
  void aCallerDoesNotSeeTheTrial(String path) {
    try (HttpService service = start(true, true)) {
      for (int left = 5; left >= 0; left--) {
        HttpResponse<String> admitted = service.get(path, "X-Key", "ada");
        assertThat(admitted.statusCode()).isEqualTo(200);
        assertThat(field(admitted, "RateLimit-Policy")).isEqualTo("\"6-per-60s\";q=6;w=60");
        assertThat(field(admitted, "RateLimit")).startsWith("\"6-per-60s\";r=" + left + ";t=");
      }
      HttpResponse<String> denied = service.get(path, "X-Key", "ada");
      assertThat(denied.statusCode()).isEqualTo(429);
      assertThat(field(denied, "RateLimit-Policy")).isEqualTo("\"6-per-60s\";q=6;w=60");
      assertThat(field(denied, "RateLimit")).startsWith("\"6-per-60s\";r=0;t=");
    }
  }

  @Test
  void aTierHasRulesOnTrialOfItsOwn() {
    try (HttpService service = start(true, true)) {
      for (int call = 0; call < 9; call++) {
        assertThat(service.status("/tried/annotated", "X-Key", "eve", "X-Tier", "gold"))
            .isEqualTo(200);
      }
      assertThat(counted(service, "annotated", "8-per-60s")).isEqualTo(1);
      assertThat(counted(service, "annotated", "3-per-60s")).isZero();
    }
  }

  /** The numbers of a refresh begin a trial; promoted, they go on from what was admitted. */
  @Test
  void otherNumbersAreTriedAndPromotedByOneChange() {
    try (HttpService service = start(true, false)) {
      assertThat(denied(service, "/tried/routed", "ada", 4)).isZero();
      assertThat(counted(service, "routed", "3-per-60s")).isEqualTo(1);

      changing.put("limiter.policies.routed.trial[0].time", "60s");
      set(service, "limiter.policies.routed.trial[0].count", 2);
      assertThat(denied(service, "/tried/routed", "ada", 1)).isZero();
      assertThat(counted(service, "routed", "2-per-60s")).isEqualTo(1); // of the same shape

      set(service, "limiter.policies.routed.trial[0].count", 1);
      assertThat(denied(service, "/tried/routed", "eve", 2)).isZero();
      assertThat(counted(service, "routed", "1-per-60s")).isEqualTo(1);

      changing.clear();
      changing.put("limiter.policies.routed.rules[0].time", "60s");
      set(service, "limiter.policies.routed.rules[0].count", 5);
      assertThat(denied(service, "/tried/routed", "ada", 1)).isEqualTo(1); // 5 were admitted
    }
  }

  private void set(HttpService service, String setting, Object value) {
    changing.put(setting, value);
    assertThat(service.bean(LimitPolicies.class).refresh()).isTrue();
  }

  @Test
  void aRuleOnTrialIsNotMarkedAsObserved() {
    try (HttpService service = start(true, false)) {
      changing.put("limiter.policies.routed.trial[0].observe", true);
      assertThat(service.bean(LimitPolicies.class).refresh()).isFalse();
      assertThat(service.status("/tried/routed", "X-Key", "ada")).isEqualTo(200);
    }
  }

  @Test
  void aResetForgetsTheTrial() {
    try (HttpService service = start(true, false)) {
      assertThat(denied(service, "/tried/routed", "ada", 4)).isZero();
      assertThat(counted(service, "routed", "3-per-60s")).isEqualTo(1);
      LimitPolicies policies = service.bean(LimitPolicies.class);
      service
          .bean(Limiter.class)
          .reset(policies.get("routed").forHeader("X-Key", "ada"))
          .toCompletableFuture()
          .join();
      assertThat(denied(service, "/tried/routed", "ada", 3)).isZero();
      assertThat(counted(service, "routed", "3-per-60s")).isEqualTo(1);
    }
  }
}
