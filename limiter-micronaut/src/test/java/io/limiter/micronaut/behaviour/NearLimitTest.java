// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.Verdict;
import io.limiter.core.rule.CalendarPeriod;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.Tiers;
import io.limiter.micronaut.event.LimiterEvent.NearLimit;
import io.limiter.micronaut.plan.LimitPolicies;
import io.limiter.micronaut.testing.HttpService;
import io.limiter.micronaut.testing.Sources;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.env.PropertySource;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.runtime.event.annotation.EventListener;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;

/** Policies that warn when a subject comes near its limit: over Redis, and in memory. */
class NearLimitTest {

  private static final String SPEC = "NearLimitTest";
  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final String MONTH = "10-per-month";

  @Controller("/near")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/translations")
    @RateLimiter(
        value = "translations",
        header = "X-Key",
        warnAt = 0.8,
        rules = @RateRule(count = 10, fixedWindow = @FixedWindow(calendar = CalendarPeriod.MONTH)))
    String translations() {
      return "translated";
    }

    /** Of a year: no test sees two of them. */
    @Get("/verdict")
    @RateLimiter(
        value = "verdict",
        warnAt = 0.5,
        rules = @RateRule(count = 4, fixedWindow = @FixedWindow(calendar = CalendarPeriod.YEAR)))
    String verdict(Verdict verdict) {
      return verdict.nearLimit() + " " + verdict.usage().get(0).left();
    }

    @Get("/short")
    @RateLimiter(
        value = "short",
        warnAt = 0.5,
        rules = @RateRule(count = 2, time = 1, algorithm = Algorithm.FIXED_WINDOW))
    String ofASecond() {
      return "short";
    }

    @Get("/leased")
    @RateLimiter(
        value = "leased",
        lease = "1s",
        warnAt = 0.5,
        rules = @RateRule(count = 400, time = 3_600, algorithm = Algorithm.FIXED_WINDOW))
    String leased() {
      return "leased";
    }

    @Get("/plain")
    @RateLimiter(value = "plain", header = "X-Key", rules = @RateRule(count = 10, time = 3_600))
    String plain() {
      return "plain";
    }

    /** A rule of the address, decided before the body, and one of the item. */
    @Post("/items")
    @RateLimiter(
        value = "early",
        early = true,
        warnAt = 1,
        rules = @RateRule(count = 3, time = 3_600, name = "early"))
    @RateLimiter(
        value = "late",
        subject = "#{order.get('item')}",
        warnAt = 0.1,
        rules = @RateRule(count = 3, time = 3_600, name = "late"))
    String items(@Body Map<String, String> order) {
      return "items";
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Heard {
    final Queue<NearLimit> events = new ConcurrentLinkedQueue<>();

    @EventListener
    void on(NearLimit near) {
      events.add(near);
    }
  }

  /** The tier that a caller states. */
  @Singleton
  @Requires(property = "limiter.tier-lookup.headers")
  @Requires(property = "spec.name", value = SPEC)
  static class StatedTiers implements Tiers {

    @Override
    public CompletionStage<String> of(HttpRequest<?> request) {
      return CompletableFuture.completedFuture(request.getHeaders().get("X-Tier"));
    }
  }

  private final String prefix = "near:" + UUID.randomUUID().toString().substring(0, 8) + ':';

  /** An instance; all of them count together. */
  private TestServer start(Map<String, Object> more) {
    Map<String, Object> settings = new HashMap<>(more);
    settings.put("limiter.redis.key-prefix", prefix);
    settings.put("limiter.redis.key-secret", "0123456789abcdef0123456789abcdef");
    settings.put("micronaut.metrics.enabled", true);
    return TestServer.start(SPEC, settings);
  }

  /** The events of an instance, once there are so many. */
  private static List<NearLimit> events(HttpService server, int count) {
    Queue<NearLimit> events = server.bean(Heard.class).events;
    await().atMost(PATIENCE).until(() -> events.size() >= count);
    return List.copyOf(events);
  }

  private static double counted(HttpService server, String policy, String rule) {
    return server
        .bean(MeterRegistry.class)
        .find("limiter.near.limit")
        .tags("policy", policy, "rule", rule)
        .counters()
        .stream()
        .mapToDouble(Counter::count)
        .sum();
  }

  private static void call(int times, HttpService server, String path, String... headers) {
    for (int i = 0; i < times; i++) {
      server.status(path, headers);
    }
  }

  @Test
  void eachInstanceReportsASubjectOnceAPeriod() {
    try (TestServer one = start(Map.of());
        TestServer other = start(Map.of())) {
      call(7, one, "/near/translations", "X-Key", "ann");
      call(1, other, "/near/translations", "X-Key", "ann");
      call(2, one, "/near/translations", "X-Key", "ann");
      for (TestServer each : List.of(one, other)) {
        assertThat(each.status("/near/translations", "X-Key", "ann")).isEqualTo(429);
        assertThat(each.status("/near/translations", "X-Key", "ann")).isEqualTo(429);
      }
      call(8, one, "/near/translations", "X-Key", "ben");

      NearLimit first = events(other, 1).get(0);
      assertThat(first.policy()).isEqualTo("translations");
      assertThat(first.method()).endsWith("Routes.translations()");
      assertThat(first.rule()).isEqualTo(MONTH);
      assertThat(first.used()).isEqualTo(8);
      assertThat(first.left()).isEqualTo(2);
      assertThat(first.resetAfter()).isPositive().isLessThanOrEqualTo(Duration.ofDays(31));
      List<NearLimit> seen = events(one, 2);
      assertThat(seen).extracting(NearLimit::used).containsExactly(9L, 8L);
      assertThat(seen.get(0).subject()).isEqualTo(first.subject());
      assertThat(seen.get(1).subject()).isNotEqualTo(first.subject());
      assertThat(counted(one, "translations", MONTH)).isEqualTo(2);
      assertThat(counted(other, "translations", MONTH)).isEqualTo(1);
    }
  }

  @Test
  void memoryReportsLikeRedis() {
    try (HttpService memory = HttpService.start(SPEC, Map.of())) {
      call(12, memory, "/near/translations", "X-Key", "ann");
      call(8, memory, "/near/translations", "X-Key", "ben");

      assertThat(events(memory, 2)).extracting(NearLimit::used).containsExactly(8L, 8L);
    }
  }

  @Test
  void aSubjectIsReportedAgainInItsNextPeriod() {
    try (TestServer server = start(Map.of())) {
      long begin = System.nanoTime();
      Queue<NearLimit> events = server.bean(Heard.class).events;
      await()
          .atMost(PATIENCE)
          .pollInterval(Duration.ofMillis(10))
          .until(
              () -> {
                server.status("/near/short");
                return events.size() >= 3;
              });

      assertThat(Duration.ofNanos(System.nanoTime() - begin))
          .as("the third window begins after two whole ones")
          .isGreaterThan(Duration.ofMillis(1_900));
      assertThat(events).extracting(NearLimit::subject).doesNotContainNull();
      assertThat(counted(server, "short", "2-per-1s")).isEqualTo(events.size());
    }
  }

  @Test
  void theVerdictAndAFieldShowIt() {
    try (TestServer server = start(Map.of("limiter.headers.warning", true))) {
      assertThat(server.get("/near/verdict").body()).isEqualTo("false 3");
      assertThat(server.get("/near/verdict").body()).isEqualTo("true 2");
      for (int status : List.of(200, 200, 200, 200, 200, 200, 200)) {
        assertThat(translations(server, status)).isEmpty();
      }
      for (int status : List.of(200, 200, 200, 429, 429)) {
        assertThat(translations(server, status)).contains('"' + MONTH + '"');
      }
    }
  }

  /** The warning in the response to a call. */
  private static Optional<String> translations(HttpService server, int status) {
    HttpResponse<String> response = server.get("/near/translations", "X-Key", "ann");
    assertThat(response.statusCode()).isEqualTo(status);
    return response.headers().firstValue("X-RateLimit-Warning");
  }

  @Test
  void thereIsNoFieldByDefault() {
    try (TestServer server = start(Map.of())) {
      call(10, server, "/near/translations", "X-Key", "ann");
      assertThat(translations(server, 429)).isEmpty();
    }
  }

  @Test
  void bothDecisionsOfACallReportTheirPolicy() {
    try (TestServer server = start(Map.of())) {
      for (String item : List.of("a", "b", "b")) {
        assertThat(server.post("/near/items", "{\"item\":\"" + item + "\"}").statusCode())
            .isEqualTo(200);
      }

      assertThat(events(server, 3))
          .extracting(near -> near.policy() + ' ' + near.rule() + ' ' + near.used())
          .containsExactlyInAnyOrder("late late 1", "late late 1", "early early 3");
    }
  }

  @Test
  void settingsSwitchWarningsOnAndOffAndTheRulesOfATierHaveThem() {
    Map<String, Object> changing = new ConcurrentHashMap<>();
    String tiers =
        """
        limiter:
          tier-lookup: {headers: [X-Tier]}
          tiers:
            gold:
              plain: {rules: {10-per-3600s: {count: 20}}}
        """;
    try (TestServer server = start(Sources.yaml(tiers))) {
      server
          .context()
          .getEnvironment()
          .addPropertySource(PropertySource.of("changing", changing, 1_000));
      LimitPolicies policies = server.bean(LimitPolicies.class);
      call(9, server, "/near/plain", "X-Key", "ann");

      changing.put("limiter.policies.plain.warn-at", "0.4");
      changing.put("limiter.policies.translations.warn-at", "0");
      assertThat(policies.refresh()).isTrue();
      call(12, server, "/near/translations", "X-Key", "ann");
      call(8, server, "/near/plain", "X-Key", "gold", "X-Tier", "gold");
      call(1, server, "/near/plain", "X-Key", "ann");
      assertThat(events(server, 2)).extracting(NearLimit::used).containsExactly(8L, 10L);
      assertThat(policies.get("plain").limits().get(0).warnAt()).isEqualTo(0.4);
      assertThat(policies.get("translations").limits().get(0).warnAt()).isZero();

      changing.put("limiter.policies.plain.warn-at", "80");
      assertThat(policies.refresh()).isFalse();
    }
  }

  /** Perhaps some calls earlier: units that an instance has taken in advance are used for Redis. */
  @Test
  void callsThatALeaseDecidesReport() {
    try (TestServer server = start(Map.of("limiter.headers.debug", true))) {
      boolean leased = false;
      for (int i = 0; i < 120; i++) {
        leased |=
            server.get("/near/leased").headers().firstValue("X-Decided-By").get().equals("LEASE");
      }
      assertThat(leased).isTrue();
      assertThat(server.bean(Heard.class).events).isEmpty();
      call(280, server, "/near/leased");
      assertThat(events(server, 1)).extracting(NearLimit::used).allMatch(used -> used >= 200);
      assertThat(counted(server, "leased", "400-per-3600s")).isEqualTo(1);
    }
  }

  @Test
  void observedRulesReportNothing() {
    try (TestServer server = start(Map.of("limiter.policies.translations.observe", true))) {
      call(12, server, "/near/translations", "X-Key", "ann");
      call(1, server, "/near/verdict");
      call(1, server, "/near/verdict");
      assertThat(events(server, 1)).extracting(NearLimit::policy).containsExactly("verdict");
    }
  }
}
