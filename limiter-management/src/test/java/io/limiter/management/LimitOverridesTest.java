// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.rule.CalendarPeriod;
import io.limiter.core.testing.RedisFixture;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.ConcurrencyLimit;
import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.PreventDuplicate;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.TokenBucket;
import io.limiter.micronaut.config.ListedCallers;
import io.limiter.micronaut.event.LimiterEvent;
import io.limiter.micronaut.plan.LimitPolicies;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.runtime.event.annotation.EventListener;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What an operator gives one caller, over HTTP. */
class LimitOverridesTest {

  private static final String SPEC = "LimitOverridesTest";
  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final Duration HOUR = Duration.ofHours(1);

  @Controller("/overridden")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    final CompletableFuture<String> result = new CompletableFuture<>();

    @Get("/search")
    @RateLimiter(
        value = "search",
        limitType = LimitType.HEADER,
        header = "X-Key",
        rules = {@RateRule(count = 2), @RateRule(count = 5, time = 3600, name = "hourly")})
    String search() {
      return "ok";
    }

    @Get("/both")
    @RateLimiter(
        value = "keys",
        limitType = LimitType.HEADER,
        header = "X-Key",
        rules = @RateRule(count = 2))
    @RateLimiter(value = "all", limitType = LimitType.GLOBAL, rules = @RateRule(count = 4))
    String both() {
      return "ok";
    }

    @Get("/dear")
    @RateLimiter(
        value = "dear",
        limitType = LimitType.HEADER,
        header = "X-Key",
        cost = "5",
        rules = {@RateRule(count = 20), @RateRule(count = 50, time = 3600, name = "hourly")})
    String dear() {
      return "ok";
    }

    @Get("/budget")
    @RateLimiter(
        value = "budget",
        limitType = LimitType.HEADER,
        header = "X-Key",
        cost = "#{n}",
        rules = {
          @RateRule(
              count = 10_000_000_000L,
              name = "month",
              fixedWindow = @FixedWindow(calendar = CalendarPeriod.MONTH)),
          @RateRule(
              count = 90_000_000_000_000L,
              name = "rate",
              tokenBucket = @TokenBucket(refill = 1_001_000_000))
        })
    String budget(@QueryValue int n) {
      return "ok";
    }

    @Get("/leased")
    @RateLimiter(
        value = "leased",
        limitType = LimitType.HEADER,
        header = "X-Key",
        lease = "1s",
        rules = @RateRule(count = 1_000, algorithm = Algorithm.FIXED_WINDOW))
    String leased() {
      return "ok";
    }

    @Get("/warned")
    @RateLimiter(
        value = "warned",
        limitType = LimitType.HEADER,
        header = "X-Key",
        warnAt = 0.8,
        rules = @RateRule(count = 10, name = "ten"))
    String warned() {
      return "ok";
    }

    @Get("/billed")
    @RateLimiter(
        value = "billed",
        limitType = LimitType.HEADER,
        header = "X-Key",
        rules =
            @RateRule(
                count = 2,
                name = "monthly",
                fixedWindow = @FixedWindow(calendar = CalendarPeriod.MONTH, anchor = "#{day}")))
    String billed(@QueryValue int day) {
      return "ok";
    }

    @Get("/tried")
    @RateLimiter(
        value = "tried",
        header = "X-Key",
        rules = @RateRule(count = 3),
        trial = @RateRule(count = 2))
    String tried() {
      return "ok";
    }

    @Get("/argument{?who}")
    @RateLimiter(value = "argument", subject = "#{who}", rules = @RateRule(count = 1))
    String argument(String who) {
      return "ok";
    }

    @Post("/once")
    @RateLimiter(value = "once", limitType = LimitType.HEADER, header = "X-Key")
    @PreventDuplicate
    String once() {
      return "ok";
    }

    @Get("/busy")
    @RateLimiter(value = "busy", limitType = LimitType.HEADER, header = "X-Key")
    @ConcurrencyLimit(1)
    CompletableFuture<String> busy() {
      return result;
    }
  }

  private static HttpService start(String uri, String prefix, Object... more) {
    Map<String, Object> settings =
        HttpService.settings(
            "limiter.overrides.enabled",
            true,
            "limiter.overrides.interval",
            "100ms",
            "limiter.redis.deadline",
            "1s",
            "limiter.redis.key-prefix",
            prefix);
    if (!uri.isEmpty()) {
      settings.put("redis.uri", uri);
    }
    settings.putAll(HttpService.settings(more));
    return HttpService.start(SPEC, settings);
  }

  private static String prefix() {
    return "over-" + UUID.randomUUID().toString().substring(0, 8) + ":";
  }

  private static LimitRequest search(HttpService service, String key) {
    return service.bean(LimitPolicies.class).get("search").forHeader("X-Key", key);
  }

  private static List<SubjectOverride> put(
      HttpService service, LimitRequest subject, Map<String, Long> counts) {
    LimitOverrides overrides = service.bean(LimitOverrides.class);
    return (counts.isEmpty()
            ? overrides.unlimited(subject, HOUR)
            : overrides.put(subject, counts, HOUR))
        .toCompletableFuture()
        .join();
  }

  private static long admitted(HttpService service, String path, String key, int calls) {
    return IntStream.range(0, calls)
        .filter(call -> service.status(path, "X-Key", key) == 200)
        .count();
  }

  @ParameterizedTest
  @CsvSource({"true, true", "true, false", "false, true"})
  void allInstancesGiveACallerOtherNumbers(boolean gate, boolean denyCache) {
    String prefix = prefix();
    Object[] settings = {"limiter.gate.enabled", gate, "limiter.deny-cache.enabled", denyCache};
    try (HttpService one = start(RedisFixture.uri(), prefix, settings);
        HttpService two = start(RedisFixture.uri(), prefix, settings)) {
      assertThat(admitted(one, "/overridden/search", "ada", 3)).isEqualTo(2);
      assertThat(admitted(two, "/overridden/search", "ada", 3)).isZero();

      put(one, search(one, "ada"), Map.of("2-per-60s", 10L, "hourly", 8L));

      HttpResponse<String> next = one.get("/overridden/search", "X-Key", "ada");
      assertThat(HttpService.field(next, "RateLimit-Policy"))
          .isEqualTo("\"2-per-60s\";q=10;w=60, \"hourly\";q=8;w=3600");
      await().atMost(PATIENCE).until(() -> two.status("/overridden/search", "X-Key", "ada") == 200);
      assertThat(
              admitted(one, "/overridden/search", "ada", 10)
                  + admitted(two, "/overridden/search", "ada", 10))
          .isEqualTo(4); // of 8 in an hour 4 were used
      HttpResponse<String> denied = two.get("/overridden/search", "X-Key", "ada");
      assertThat(denied.statusCode()).isEqualTo(429);
      assertThat(HttpService.field(denied, "RateLimit")).contains("\"hourly\";r=0");
      assertThat(admitted(two, "/overridden/search", "bob", 5)).isEqualTo(2);

      LimitOverrides overrides = two.bean(LimitOverrides.class);
      String tag = overrides.all().toCompletableFuture().join().get(0).tag();
      assertThat(overrides.remove(tag).toCompletableFuture().join()).isEmpty();
      assertThat(two.status("/overridden/search", "X-Key", "ada")).isEqualTo(429);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aCallerPassesWithoutLimits(boolean inRedis) {
    try (HttpService service = start(inRedis ? RedisFixture.uri() : "", prefix())) {
      assertThat(admitted(service, "/overridden/search", "ada", 3)).isEqualTo(2);
      put(service, search(service, "ada"), Map.of());
      assertThat(admitted(service, "/overridden/search", "ada", 20)).isEqualTo(20);
      HttpResponse<String> free = service.get("/overridden/search", "X-Key", "ada");
      assertThat(free.headers().firstValue("RateLimit")).isEmpty();
      assertThat(admitted(service, "/overridden/search", "bob", 3)).isEqualTo(2);

      LimitPolicies policies = service.bean(LimitPolicies.class);
      put(service, policies.get("keys").forHeader("X-Key", "ada"), Map.of());
      assertThat(admitted(service, "/overridden/both", "ada", 9)).isEqualTo(4);
      put(service, policies.get("argument").forSubject("eve"), Map.of());
      assertThat(admitted(service, "/overridden/argument?who=eve", "x", 3)).isEqualTo(3);
      assertThat(admitted(service, "/overridden/argument?who=mel", "x", 3)).isEqualTo(1);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void rulesOnTrialStay(boolean unlimited) {
    try (HttpService service = start(RedisFixture.uri(), prefix())) {
      LimitRequest ada = service.bean(LimitPolicies.class).get("tried").forHeader("X-Key", "ada");
      mistake(
          () -> service.bean(LimitOverrides.class).put(ada, Map.of("2-per-60s", 9L), HOUR),
          "has no rule '2-per-60s' for this subject: use one of 3-per-60s");
      put(service, ada, unlimited ? Map.of() : Map.of("3-per-60s", 5L));
      assertThat(admitted(service, "/overridden/tried", "ada", 7)).isEqualTo(unlimited ? 7 : 5);
      assertThat(service.bean(LimitOverrides.class).remove(ada).toCompletableFuture().join())
          .isEmpty();
      assertThat(service.status("/overridden/tried", "X-Key", "ada"))
          .isEqualTo(unlimited ? 200 : 429);
    }
  }

  @Test
  void permitsAreRaised() {
    try (HttpService service = start(RedisFixture.uri(), prefix())) {
      LimitRequest ada = service.bean(LimitPolicies.class).get("busy").forHeader("X-Key", "ada");
      put(service, ada, Map.of(ada.policy().rules().get(0).name(), 2L));
      List<CompletableFuture<HttpResponse<String>>> two =
          List.of(
              service.getAsync("/overridden/busy", "X-Key", "ada"),
              service.getAsync("/overridden/busy", "X-Key", "ada"));
      await()
          .atMost(PATIENCE)
          .until(() -> service.status("/overridden/busy", "X-Key", "ada") == 429);
      service.bean(Routes.class).result.complete("done");
      assertThat(two).allSatisfy(call -> assertThat(call.join().statusCode()).isEqualTo(200));
    }
  }

  @Test
  void itHoldsWhileRedisIsAway() {
    try (RedisProcess redis = RedisProcess.onFreePort().start();
        HttpService service = start(redis.uri(), prefix())) {
      put(service, search(service, "ada"), Map.of("2-per-60s", 4L));
      assertThat(admitted(service, "/overridden/search", "ada", 2)).isEqualTo(2);

      redis.kill();

      assertThat(admitted(service, "/overridden/search", "ada", 9)).isEqualTo(2);
      assertThat(admitted(service, "/overridden/search", "bob", 9)).isEqualTo(2);
    }
  }

  @Test
  void mistakesAreNamed() {
    try (HttpService service = start("", prefix())) {
      LimitOverrides overrides = service.bean(LimitOverrides.class);
      LimitPolicies policies = service.bean(LimitPolicies.class);
      LimitRequest ada = search(service, "ada");

      mistake(
          () -> overrides.put(ada, Map.of("daily", 3L), HOUR),
          "The policy 'search' has no rule 'daily' for this subject: use one of 2-per-60s, hourly");
      mistake(() -> overrides.put(ada, Map.of("hourly", 0L), HOUR), "count 0: use 1 to");
      mistake(() -> overrides.put(ada, Map.of(), HOUR), "specify the count of a rule");
      mistake(
          () ->
              overrides.put(
                  policies.get("dear").forHeader("X-Key", "ada"), Map.of("hourly", 4L), HOUR),
          "With a count of 4 the rule 'hourly' admits 4 at once, and a call costs 5, so no call could be admitted: use 5 or more");
      mistake(() -> overrides.unlimited(ada, Duration.ofDays(8)), "use 1 s to 7 days");
      mistake(
          () -> overrides.unlimited(policies.get("once").forHeader("X-Key", "ada"), HOUR),
          "The policy 'once' has no rules for this subject that an override could change");
      mistake(
          () -> overrides.unlimited(ada.and(policies.get("all").forEveryone()), HOUR),
          "for 2 subjects: make an override for each of them");
    }
  }

  /** As of another tier: there is one override for each subject. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void anotherOverrideDropsNoCountOfAnEarlierOne(boolean inRedis) {
    try (HttpService service = start(inRedis ? RedisFixture.uri() : "", prefix())) {
      LimitRequest ada = search(service, "ada");
      put(service, ada, Map.of("2-per-60s", 4L));

      assertThatThrownBy(() -> put(service, ada, Map.of("hourly", 9L)))
          .hasRootCauseInstanceOf(IllegalStateException.class)
          .hasRootCauseMessage(
              "The subject has an override with counts of 2-per-60s, which this one does not have: end that one first, or specify these too");
      assertThat(admitted(service, "/overridden/search", "ada", 9)).isEqualTo(4);

      put(service, ada, Map.of("hourly", 9L, "2-per-60s", 9L));
      assertThat(admitted(service, "/overridden/search", "ada", 9)).isEqualTo(5);
      put(service, ada, Map.of());
      assertThat(put(service, ada, Map.of("hourly", 9L))).hasSize(1);
    }
  }

  @Test
  void aCountIsAsLargeAsARuleMayHave() {
    try (HttpService service = start(RedisFixture.uri(), prefix())) {
      LimitRequest ada = service.bean(LimitPolicies.class).get("budget").forHeader("X-Key", "ada");
      put(service, ada, Map.of("month", 999_999_999_999_999L));
      HttpResponse<String> taken = service.get("/overridden/budget?n=1000000000", "X-Key", "ada");
      assertThat(HttpService.field(taken, "RateLimit")).startsWith("\"month\";r=999998999999999;");
      mistake(
          () -> put(service, ada, Map.of("rate", 500_000_000_000_000L)),
          "its largest count is 150119987579016;");
    }
  }

  @Test
  void aSubjectKeepsTheLease() {
    try (HttpService service = start(RedisFixture.uri(), prefix(), "limiter.headers.debug", true)) {
      LimitRequest ada = service.bean(LimitPolicies.class).get("leased").forHeader("X-Key", "ada");
      put(service, ada, Map.of("1000-per-60s", 5_000L));
      await()
          .atMost(PATIENCE)
          .pollDelay(Duration.ZERO)
          .pollInterval(Duration.ofMillis(1))
          .until(
              () ->
                  service
                      .get("/overridden/leased", "X-Key", "ada")
                      .headers()
                      .firstValue("X-Decided-By")
                      .equals(Optional.of("LEASE")));
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Heard {

    final Queue<LimiterEvent.NearLimit> near = new ConcurrentLinkedQueue<>();

    @EventListener
    void on(LimiterEvent.NearLimit event) {
      near.add(event);
    }
  }

  @Test
  void aWarningIsForAShareOfTheCountThatHolds() {
    try (HttpService service = start(RedisFixture.uri(), prefix())) {
      LimitRequest ada = service.bean(LimitPolicies.class).get("warned").forHeader("X-Key", "ada");
      put(service, ada, Map.of("ten", 20L));
      assertThat(admitted(service, "/overridden/warned", "ada", 16)).isEqualTo(16);
      Queue<LimiterEvent.NearLimit> near = service.bean(Heard.class).near;
      await().atMost(PATIENCE).until(() -> !near.isEmpty());
      assertThat(near).extracting(LimiterEvent.NearLimit::used).containsExactly(16L);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aSubjectKeepsItsBillingDay(boolean inRedis) {
    try (HttpService service = start(inRedis ? RedisFixture.uri() : "", prefix())) {
      int day = LocalDate.now(ZoneOffset.UTC).plusDays(1).getDayOfMonth();
      String path = "/overridden/billed?day=" + day;
      String usual = HttpService.field(service.get(path, "X-Key", "ada"), "RateLimit-Policy");
      LimitPolicies policies = service.bean(LimitPolicies.class);
      put(service, policies.get("billed").forHeader("X-Key", "ada"), Map.of("monthly", 3L));
      assertThat(HttpService.field(service.get(path, "X-Key", "ada"), "RateLimit-Policy"))
          .isEqualTo(usual.replace("q=2", "q=3"));
      assertThat(admitted(service, path, "ada", 9)).isEqualTo(1);
    }
  }

  private static void mistake(
      org.assertj.core.api.ThrowableAssert.ThrowingCallable call, String message) {
    assertThatThrownBy(call)
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(message);
  }

  @Test
  void thereIsNoneUnlessItIsEnabled() {
    try (HttpService service =
        start(RedisFixture.uri(), prefix(), "limiter.overrides.enabled", false)) {
      assertThat(admitted(service, "/overridden/search", "ada", 3)).isEqualTo(2);
    }
    for (Map<String, Object> settings :
        List.<Map<String, Object>>of(Map.of(), Map.of("limiter.overrides.enabled", "Off"))) {
      try (HttpService service = HttpService.start(SPEC, settings)) {
        assertThat(service.context().findBean(LimitOverrides.class)).isEmpty();
        assertThat(service.context().findBean(ListedCallers.class)).isEmpty();
        assertThat(service.bean(LimitStore.class)).isNotInstanceOf(OverrideStore.class);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"true", "ON", "Yes"})
  void anyWordForItEnablesIt(String word) {
    try (HttpService service = HttpService.start(SPEC, Map.of("limiter.overrides.enabled", word))) {
      assertThat(service.context().findBean(LimitOverrides.class)).isPresent();
      assertThat(service.bean(LimitStore.class)).isInstanceOf(OverrideStore.class);
    }
  }

  @Test
  void codeGoesOnWhereTheLimiterIsSwitchedOff() {
    try (HttpService service = start("", prefix(), "limiter.enabled", false)) {
      LimitOverrides overrides = service.bean(LimitOverrides.class);
      LimitRequest ada = service.bean(LimitPolicies.class).get("any").forUser("ada");
      assertThat(overrides.put(ada, Map.of("9-per-60s", 5L), HOUR))
          .succeedsWithin(PATIENCE)
          .isEqualTo(List.of());
      assertThat(overrides.unlimited(ada, HOUR)).succeedsWithin(PATIENCE).isEqualTo(List.of());
      assertThat(overrides.remove(ada)).succeedsWithin(PATIENCE);
      assertThat(overrides.inForce()).isEmpty();
    }
  }
}
