// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.limiter.core.testing.RecordedLog;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitCondition;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.Tiers;
import io.limiter.micronaut.testing.Sources;
import io.limiter.micronaut.testing.StatedCallers;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.env.PropertySource;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.runtime.context.scope.refresh.RefreshEvent;
import jakarta.inject.Named;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Callers that a policy treats apart: of a tier, exempt, blocked, or left out by a condition. */
@Tag("matrix")
class CallersApartTest {

  private static final String SPEC = "CallersApartTest";
  private static final String USER = StatedCallers.USER;
  private static final String ADDRESS = StatedCallers.ADDRESS;

  @Controller("/apart")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/user")
    @RateLimiter(value = "user", limitType = LimitType.USER_ID, rules = @RateRule(count = 2))
    String user() {
      return "ok";
    }

    @Get("/argument")
    @RateLimiter(value = "argument", subject = "#{who}", rules = @RateRule(count = 2))
    String argument(@QueryValue String who) {
      return "ok";
    }

    @Get("/staged")
    @RateLimiter(value = "argument", subject = "#{who}", rules = @RateRule(count = 2))
    CompletionStage<String> staged(@QueryValue String who) {
      return CompletableFuture.completedFuture("ok");
    }

    @Get("/submitted")
    @RateLimiter(
        value = "submitted",
        rules = @RateRule(count = 1),
        preventDuplicate = true,
        duplicate = @Duplicate(by = DuplicateBy.CALLER))
    String submitted() {
      return "ok";
    }

    @Get("/login")
    @RateLimiter(value = "login", beforeSecurity = true, rules = @RateRule(count = 2))
    String login() {
      return "ok";
    }

    @Get("/outsiders")
    @RateLimiter(value = "outsiders", condition = "outsiders", rules = @RateRule(count = 1))
    @RateLimiter(value = "everyone", rules = @RateRule(count = 3))
    String outsiders() {
      return "ok";
    }

    @Get("/dear")
    @RateLimiter(value = "dear", condition = "#{size > 10}", rules = @RateRule(count = 1))
    String dear(@QueryValue int size) {
      return "ok";
    }

    @Get("/broken")
    @RateLimiter(value = "broken", condition = "broken", rules = @RateRule(count = 1))
    String broken() {
      return "ok";
    }
  }

  @Singleton
  @Named("outsiders")
  @Requires(property = "spec.name", value = SPEC)
  static class Outsiders implements LimitCondition {
    @Override
    public boolean limits(HttpRequest<?> request) {
      return !request.getHeaders().contains("X-Internal");
    }
  }

  @Singleton
  @Named("broken")
  @Requires(property = "spec.name", value = SPEC)
  static class Broken implements LimitCondition {
    @Override
    public boolean limits(HttpRequest<?> request) {
      throw new IllegalStateException("broken");
    }
  }

  /** The tier of a user is the name up to the first hyphen. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class UserTiers implements Tiers {

    final AtomicInteger asked = new AtomicInteger();
    final Map<String, String> changed = new ConcurrentHashMap<>();

    @Override
    public CompletionStage<String> of(HttpRequest<?> request) {
      asked.incrementAndGet();
      String user = caller(request).orElseThrow();
      String tier = changed.getOrDefault(user, user.split("-")[0]);
      return switch (tier) {
        case "late" -> new CompletableFuture<>();
        case "slow" ->
            CompletableFuture.supplyAsync(
                () -> "pro", CompletableFuture.delayedExecutor(50, TimeUnit.MILLISECONDS));
        case "failed" -> CompletableFuture.failedFuture(new IllegalStateException("no tier"));
        case "thrown" -> throw new IllegalStateException("no tier");
        case "none" -> CompletableFuture.completedFuture(null);
        default -> CompletableFuture.completedFuture(tier);
      };
    }
  }

  private static final String TIERS =
      """
      limiter:
        tiers:
          default: free
          free: {user: {rules: {2-per-60s: {count: 3}}}}
          pro: {user: {rules: [{count: 5, time: 60s}, {count: 50, time: 1h}]}, argument: {rules: {2-per-60s: {count: 5}}}}
          internal: {user: unlimited, argument: unlimited, submitted: unlimited}
        tier-lookup: {cache-time: 300ms}
      """;

  private TestServer start(String yaml, Object... more) {
    Map<String, Object> settings = new HashMap<>(Sources.yaml(yaml));
    settings.put("test.stated-callers", true);
    for (int i = 0; i < more.length; i += 2) {
      settings.put((String) more[i], more[i + 1]);
    }
    return TestServer.start(SPEC, settings);
  }

  private static int admitted(TestServer server, String path, String... headers) {
    int admitted = 0;
    while (admitted < 8 && server.status(path, headers) == 200) {
      admitted++;
    }
    return admitted;
  }

  @ParameterizedTest
  @CsvSource({
    "/apart/user, pro-a, 5",
    "/apart/user, slow-a, 5",
    "/apart/user, free-a, 3",
    "/apart/user, internal-a, 8",
    "/apart/user, gold-a, 3",
    "/apart/user, failed-a, 3",
    "/apart/user, thrown-a, 3",
    "/apart/user, none-a, 3",
    "/apart/user, late-a, 3",
    "/apart/argument?who=x, pro-a, 5",
    "/apart/argument?who=x, slow-a, 5",
    "/apart/argument?who=x, free-a, 2",
    "/apart/argument?who=x, internal-a, 8",
    "/apart/staged?who=x, pro-a, 5",
    "/apart/staged?who=x, slow-a, 5",
    "/apart/staged?who=x, late-a, 2",
  })
  void aTierHasRulesOfItsOwn(String path, String user, int count) {
    try (TestServer server = start(TIERS)) {
      assertThat(admitted(server, path, USER, user)).isEqualTo(count);
    }
  }

  @Test
  void eachUnknownTierIsWarnedOfOnceUpToABound() {
    try (RecordedLog log = RecordedLog.of("io.limiter.micronaut.call.CallerPlans");
        TestServer server = start(TIERS)) {
      for (int i = 0; i < 40; i++) {
        assertThat(server.status("/apart/user", USER, "plan%s-a".formatted(i / 2))).isEqualTo(200);
      }
      assertThat(log.messages())
          .hasSize(17)
          .startsWith(
              "A caller has the tier 'plan0', which limiter.tiers does not have: the default tier applies. It has free, internal, pro",
              "A caller has the tier 'plan1', which limiter.tiers does not have: the default tier applies. It has free, internal, pro")
          .endsWith("Callers have more than 16 unknown tiers: the others are not logged");
    }
  }

  @Test
  void aCallerWithoutALookUpHasTheDefaultTier() {
    try (TestServer server = start(TIERS)) {
      assertThat(admitted(server, "/apart/user")).isEqualTo(3);
      assertThat(server.bean(UserTiers.class).asked).hasValue(0);
    }
  }

  @Test
  void aCallerThatTwoHeaderLinesNameHasTheDefaultTier() {
    try (TestServer server = start(TIERS, "limiter.tier-lookup.headers", "X-Plan")) {
      assertThat(admitted(server, "/apart/user", USER, "pro-a", "X-Plan", "a")).isEqualTo(5);
      assertThat(admitted(server, "/apart/user", USER, "pro-b", "X-Plan", "a", "X-Plan", "b"))
          .isEqualTo(3);
      assertThat(server.bean(UserTiers.class).asked).hasValue(1);
    }
  }

  @Test
  void usedUnitsStayCountedWhenTheTierChangesAndHasOtherCounts() {
    String path = "/apart/argument?who=x";
    try (TestServer server = start(TIERS)) {
      assertThat(admitted(server, path, USER, "ann")).isEqualTo(2);
      server.bean(UserTiers.class).changed.put("ann", "pro");
      await().until(() -> server.status(path, USER, "ann") == 200);
      assertThat(admitted(server, path, USER, "ann")).isEqualTo(2);
    }
  }

  @Test
  void aTierWithOtherWindowsCountsByItself() {
    try (TestServer server = start(TIERS)) {
      assertThat(admitted(server, "/apart/user", USER, "ann")).isEqualTo(3);
      server.bean(UserTiers.class).changed.put("ann", "pro");
      await().until(() -> server.status("/apart/user", USER, "ann") == 200);
      assertThat(admitted(server, "/apart/user", USER, "ann")).isEqualTo(4);
      server.bean(UserTiers.class).changed.put("ann", "free");
      assertThat(server.status("/apart/user", USER, "ann")).isEqualTo(429);
    }
  }

  @Test
  void aTierIsRemembered() {
    try (TestServer server = start(TIERS, "limiter.tier-lookup.cache-time", "1h")) {
      admitted(server, "/apart/user", USER, "pro-a");
      assertThat(server.bean(UserTiers.class).asked).hasValue(1);
      admitted(server, "/apart/user", USER, "failed-a");
      assertThat(server.bean(UserTiers.class).asked.get()).isGreaterThan(3);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"/apart/user?", "/apart/argument?who=x", "/apart/staged?who=x"})
  void aTierMayHaveRulesOfAnotherKind(String path) {
    String yaml =
        """
        limiter:
          tiers:
            slowly:
              user: &rules {rules: [{count: 4, time: 1s, leaky-bucket: {queue: 5, max-wait: 5s}}]}
              argument: *rules
            failing:
              user: &failures {rules: [{count: 2, time: 60s, counts: failures}]}
              argument: *failures
        """;
    try (TestServer server = start(yaml)) {
      long begin = System.nanoTime();
      for (int i = 0; i < 5; i++) {
        assertThat(server.status(path, USER, "slowly-a")).isEqualTo(200);
      }
      // One each 250 ms.
      assertThat(System.nanoTime() - begin).isGreaterThan(TimeUnit.MILLISECONDS.toNanos(900));
      assertThat(admitted(server, path, USER, "failing-a")).isEqualTo(8);
    }
  }

  @Test
  void unlimitedKeepsTheDuplicateGuard() {
    try (TestServer server = start(TIERS)) {
      assertThat(server.status("/apart/submitted", USER, "internal-a")).isEqualTo(200);
      assertThat(server.status("/apart/submitted", USER, "internal-a")).isEqualTo(409);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "limiter.tiers.pro.nobodys | unlimited | no policy is named 'nobodys'",
        "limiter.tiers.pro.user | unlimitd | a tier has rules for a policy, or the word unlimited",
        "limiter.tiers.pro.login.rules[0].count | 5 | decided before security",
        "limiter.tiers.free.user.rules.9-per-60s.count | 5 | has no rule '9-per-60s'",
        "limiter.tiers.Pro.user | unlimited | name a tier in lower-case letters",
        "limiter.tiers.default | Pro! | name a tier in lower-case letters",
        "limiter.tiers.free.user.rules.2-per-60s.count | 0 | limiter.tiers.free.user.rules.2-per-60s.count",
      })
  void aMistakeInATierStopsTheStart(String key, String value, String remedy) {
    assertThatThrownBy(() -> start(TIERS, key, value).close())
        .hasMessageContaining(key)
        .hasMessageContaining(value)
        .hasMessageContaining(remedy);
  }

  private static final String LISTS =
      """
      limiter:
        exempt:
          addresses: [192.0.2.0/28, "2001:db8:1:2::/64"]
          users: [monitor]
          tokens: [3b9c358f36f0a31b6ad3e14f309c7cf198ac9246e8316f9ce543d5b19ac02b80]
        block:
          addresses: [203.0.113.7, "2001:db8:6::/48"]
          users: [mallory]
      """;

  private static final String TOKEN = "0123456789012345678901"; // 22 characters

  @Test
  void exemptCallersAreNotLimited() {
    try (TestServer server = start(LISTS, "limiter.exempt.tokens", List.of(sha256(TOKEN)))) {
      assertThat(admitted(server, "/apart/user", ADDRESS, "192.0.2.14", USER, "a")).isEqualTo(8);
      assertThat(admitted(server, "/apart/user", ADDRESS, "192.0.2.16", USER, "b")).isEqualTo(2);
      assertThat(admitted(server, "/apart/user", ADDRESS, "2001:db8:1:2::/64", USER, "c"))
          .isEqualTo(8);
      assertThat(admitted(server, "/apart/user", ADDRESS, "198.51.100.1", USER, "monitor"))
          .isEqualTo(8);
      String header = "X-RateLimit-Exempt";
      assertThat(admitted(server, "/apart/user", ADDRESS, "198.51.100.2", USER, "d", header, TOKEN))
          .isEqualTo(8);
      assertThat(
              admitted(
                  server, "/apart/user", ADDRESS, "198.51.100.2", USER, "d", header, TOKEN + "1"))
          .isEqualTo(2);
      assertThat(admitted(server, "/apart/argument?who=e", ADDRESS, "192.0.2.14")).isEqualTo(8);
      assertThat(admitted(server, "/apart/login", ADDRESS, "192.0.2.14")).isEqualTo(8);
      // Users are unknown before security.
      assertThat(admitted(server, "/apart/login", ADDRESS, "198.51.100.3", USER, "monitor"))
          .isEqualTo(2);
      assertThat(server.status("/apart/submitted", ADDRESS, "192.0.2.14")).isEqualTo(200);
      assertThat(server.status("/apart/submitted", ADDRESS, "192.0.2.14")).isEqualTo(409);
    }
  }

  @Test
  void blockedCallersAreRejected() {
    try (TestServer server = start(LISTS)) {
      HttpResponse<String> rejected = server.get("/apart/user", ADDRESS, "203.0.113.7");
      assertThat(rejected.statusCode()).isEqualTo(403);
      assertThat(rejected.body()).contains("This caller is blocked");
      assertThat(server.status("/nowhere", ADDRESS, "203.0.113.7")).isEqualTo(403);
      assertThat(server.status("/apart/user", ADDRESS, "2001:db8:6:1234::/64")).isEqualTo(403);
      assertThat(server.status("/nowhere", ADDRESS, "203.0.113.8")).isEqualTo(404);
      assertThat(server.status("/apart/user", ADDRESS, "203.0.113.8", USER, "mallory"))
          .isEqualTo(403);
      assertThat(server.status("/apart/user", ADDRESS, "203.0.113.8", USER, "ann")).isEqualTo(200);
    }
  }

  /** Micronaut names few of these statuses: the others need the same answer. */
  @ParameterizedTest
  @ValueSource(ints = {400, 418, 422, 446, 451, 498, 499, 511, 520, 599})
  void everyStatusReachesBlockedCallers(int status) {
    try (TestServer server = start(LISTS, "limiter.block.status", status)) {
      for (String accept : List.of("application/json", "text/html")) {
        HttpResponse<String> address =
            server.get("/nowhere", ADDRESS, "203.0.113.7", "Accept", accept);
        HttpResponse<String> user =
            server.get("/apart/user", ADDRESS, "203.0.113.8", USER, "mallory", "Accept", accept);

        assertThat(List.of(address.statusCode(), user.statusCode())).containsOnly(status);
        assertThat(address.body()).contains("This caller is blocked");
        assertThat(user.body()).contains("This caller is blocked");
      }
    }
  }

  @Test
  void aRefreshChangesTheLists() {
    try (TestServer server = start(LISTS)) {
      Map<String, Object> changing =
          Map.of(
              "limiter.block.addresses[0]", "198.51.100.7",
              "limiter.block.status", 410,
              "limiter.exempt.users", "ann");
      server
          .context()
          .getEnvironment()
          .addPropertySource(PropertySource.of("changed", changing, 1_000));
      server.context().getEventPublisher(RefreshEvent.class).publishEvent(new RefreshEvent());
      assertThat(server.status("/apart/user", ADDRESS, "198.51.100.7")).isEqualTo(410);
      assertThat(admitted(server, "/apart/user", ADDRESS, "198.51.100.8", USER, "ann"))
          .isEqualTo(8);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "limiter.exempt.addresses = 10.0.0.0/4",
        "limiter.exempt.addresses = example.com",
        "limiter.exempt.header = X Header",
        "limiter.block.addresses = 10.0.0.1/8",
        "limiter.block.status = 200",
      })
  void aMistakeInAListStopsTheStart(String setting) {
    String[] parts = setting.split(" = ");
    assertThatThrownBy(() -> start("", parts[0], parts[1]).close()).hasMessageContaining(setting);
  }

  @Test
  void aTokenInPlaceOfItsDigestIsNotLogged() {
    assertThatThrownBy(() -> start("", "limiter.exempt.tokens", TOKEN).close())
        .hasMessageContaining("limiter.exempt.tokens")
        .hasMessageContaining("sha256sum")
        .matches(failure -> !String.valueOf(failure.getMessage()).contains(TOKEN));
  }

  @Test
  void aConditionLeavesCallsOut() {
    try (TestServer server = start("")) {
      HttpResponse<String> first = server.get("/apart/outsiders");
      assertThat(field(first, "RateLimit")).contains("\"1-per-60s\";r=0", "\"3-per-60s\";r=2");
      assertThat(server.status("/apart/outsiders")).isEqualTo(429);
      HttpResponse<String> inside = server.get("/apart/outsiders", "X-Internal", "1");
      assertThat(inside.statusCode()).isEqualTo(200);
      assertThat(field(inside, "RateLimit")).isEqualTo("\"3-per-60s\";r=1;t=60");
      assertThat(server.status("/apart/outsiders", "X-Internal", "1")).isEqualTo(200);
      assertThat(server.status("/apart/outsiders", "X-Internal", "1")).isEqualTo(429);
    }
  }

  @Test
  void anExpressionIsACondition() {
    try (TestServer server = start("")) {
      assertThat(admitted(server, "/apart/dear?size=10")).isEqualTo(8);
      assertThat(admitted(server, "/apart/dear?size=11")).isEqualTo(1);
      assertThat(admitted(server, "/apart/dear?size=10")).isEqualTo(8);
    }
  }

  @Test
  void aConditionThatFailsLimits() {
    try (TestServer server = start("")) {
      assertThat(admitted(server, "/apart/broken")).isEqualTo(1);
    }
  }

  @Test
  void aConditionIsConfigured() {
    try (TestServer server = start("", "limiter.policies.user.condition", "outsiders")) {
      assertThat(admitted(server, "/apart/user", USER, "a", "X-Internal", "1")).isEqualTo(8);
      assertThat(admitted(server, "/apart/user", USER, "a")).isEqualTo(2);
    }
    assertThatThrownBy(() -> start("", "limiter.policies.user.condition", "insiders").close())
        .hasMessageContaining("limiter.policies.user.condition = insiders")
        .hasMessageContaining("no bean of type");
  }

  private static String sha256(String text) {
    try {
      return HexFormat.of()
          .formatHex(MessageDigest.getInstance("SHA-256").digest(text.getBytes(UTF_8)));
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }
}
