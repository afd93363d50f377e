// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisFixture;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.config.SettingsRefresh.SettingsShare;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.plan.LimitPolicies;
import io.limiter.micronaut.testing.HttpService;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.StartupEvent;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A hash in Redis changes numbers and switches on all instances. */
@Tag("matrix")
class SharedSettingsTest {

  private static final String SPEC = "SharedSettingsTest";
  private static final String COUNT = "shared.rules.5-per-60s.count";

  private final String prefix = "test:" + UUID.randomUUID().toString().substring(0, 8) + ":";
  private RedisClient client;
  private StatefulRedisConnection<String, String> connection;
  private RedisCommands<String, String> redis;

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Limits {
    @RateLimiter(value = "shared", rules = @RateRule(count = 5))
    public void shared() {}

    @RateLimiter(value = "other", rules = @RateRule(count = 7))
    public void other() {}

    @RateLimiter(value = "first", rules = @RateRule(count = 5, limitType = LimitType.GLOBAL))
    public void first() {}
  }

  /** Calls when the application may call for the first time. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  @Requires(property = "calls-at-the-start")
  static class FirstCalls implements ApplicationEventListener<StartupEvent> {

    private final Limits limits;
    private volatile int admitted;

    FirstCalls(Limits limits) {
      this.limits = limits;
    }

    @Override
    public void onApplicationEvent(StartupEvent started) {
      try {
        for (admitted = 0; admitted < 5; admitted++) {
          limits.first();
        }
      } catch (RateLimitExceededException denied) {
        // as the count of the hash has it
      }
    }
  }

  @BeforeEach
  void connect() {
    client = RedisClient.create(RedisFixture.uri());
    connection = client.connect();
    redis = connection.sync();
  }

  @AfterEach
  void disconnect() {
    redis.del(prefix + "settings");
    connection.close();
    client.shutdown(Duration.ZERO, Duration.ofSeconds(1));
  }

  private Map<String, Object> settings(Object... more) {
    Map<String, Object> all =
        HttpService.settings(
            "spec.name",
            SPEC,
            "redis.uri",
            RedisFixture.uri(),
            "limiter.redis.key-prefix",
            prefix,
            "limiter.redis.shared-settings.enabled",
            true,
            "limiter.redis.shared-settings.interval",
            "100ms");
    all.putAll(HttpService.settings(more));
    return all;
  }

  private ApplicationContext start(Object... more) {
    return ApplicationContext.run(settings(more));
  }

  private static SettingsShare.ShareState status(ApplicationContext context) {
    return context.getBean(SettingsShare.class).status();
  }

  private static void awaitProblem(ApplicationContext context, String problem) {
    await().until(() -> status(context).problem().orElse("none").contains(problem));
  }

  /** Until the hash was read again. */
  private static void awaitRead(ApplicationContext context) {
    Optional<Instant> before = status(context).lastRead();
    await().until(() -> !status(context).lastRead().equals(before));
  }

  private static List<String> ofShared(RecordedLog log) {
    return log.lines().stream().filter(line -> line.contains("hared settings")).toList();
  }

  private static long count(ApplicationContext context, String policy) {
    return context.getBean(LimitPolicies.class).get(policy).limits().stream()
        .mapToLong(limit -> limit.rules().get(0).capacity())
        .findFirst()
        .orElse(-1);
  }

  @Test
  void allInstancesFollowTheNewestVersion() {
    redis.hset(prefix + "settings", Map.of("version", "3", COUNT, "8"));
    try (ApplicationContext one = start();
        ApplicationContext two = start()) {
      await().until(() -> count(one, "shared") == 8 && count(two, "shared") == 8);
      assertThat(count(one, "other")).isEqualTo(7);

      redis.hset(prefix + "settings", Map.of("version", "4", COUNT, "2", "other.enabled", "false"));
      await().until(() -> count(one, "shared") == 2 && count(two, "shared") == 2);
      assertThat(count(one, "other")).isEqualTo(-1);

      redis.del(prefix + "settings");
      redis.hset(prefix + "settings", Map.of("version", "2", COUNT, "9"));
      awaitProblem(one, "have version 2, which is older than 4");
      assertThat(count(one, "shared")).isEqualTo(2);

      redis.del(prefix + "settings");
      redis.hset(prefix + "settings", "version", "5");
      await().until(() -> count(one, "shared") == 5 && count(one, "other") == 7);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        COUNT + " = 0",
        COUNT + " = many",
        "shared.rules.6-per-60s.count = 8",
        "nobodys.enabled = false",
        "shared.fallback = allow",
        "shared.rules[0].count = 8",
        "shared.enabled = perhaps",
      })
  void aMistakeChangesNothing(String mistake) {
    try (ApplicationContext one = start()) {
      redis.hset(
          prefix + "settings",
          Map.of(
              "version",
              "1",
              "other.rules.7-per-60s.count",
              "9",
              mistake.split(" = ")[0],
              mistake.split(" = ")[1]));
      awaitProblem(one, "The shared settings of version 1 are ignored: ");
      assertThat(count(one, "shared")).isEqualTo(5);
      assertThat(count(one, "other")).isEqualTo(7);

      redis.del(prefix + "settings");
      redis.hset(prefix + "settings", Map.of("version", "2", COUNT, "8"));
      await().until(() -> count(one, "shared") == 8);
    }
  }

  private static boolean isObserved(ApplicationContext context, String policy) {
    return context.getBean(PoliciesConfiguration.class).observed().contains(policy);
  }

  @Test
  void aChangeIsANewVersionAndWritesAHashAgainThatIsLost() {
    redis.hset(prefix + "settings", Map.of("version", "7", COUNT, "8"));
    try (ApplicationContext one = start();
        ApplicationContext two = start()) {
      await().until(() -> count(one, "shared") == 8 && count(two, "shared") == 8);
      redis.del(prefix + "settings");

      assertThat(one.getBean(SettingsShare.class).set("other.observe", "true"))
          .succeedsWithin(Duration.ofSeconds(10))
          .isEqualTo(Optional.empty());

      assertThat(redis.hgetall(prefix + "settings"))
          .isEqualTo(Map.of("version", "8", COUNT, "8", "other.observe", "true"));
      assertThat(isObserved(one, "other")).isTrue();
      await().until(() -> isObserved(two, "other"));
      assertThat(count(two, "shared")).isEqualTo(8);

      redis.hset(prefix + "settings", Map.of("version", "20", COUNT, "3"));
      assertThat(two.getBean(SettingsShare.class).set("other.observe", "false"))
          .succeedsWithin(Duration.ofSeconds(10))
          .isEqualTo(Optional.empty());
      assertThat(redis.hgetall(prefix + "settings"))
          .isEqualTo(Map.of("version", "21", COUNT, "3", "other.observe", "false"));
      await().until(() -> count(one, "shared") == 3 && !isObserved(one, "other"));
    }
  }

  @Test
  void aVersionThatCannotGrowIsAnErrorAndChangesNothing() {
    Map<String, String> huge = Map.of("version", "999999999999999", COUNT, "8");
    redis.hset(prefix + "settings", huge);
    try (ApplicationContext one = start()) {
      await().until(() -> count(one, "shared") == 8);

      assertThat(one.getBean(SettingsShare.class).set("other.observe", "true"))
          .failsWithin(Duration.ofSeconds(10))
          .withThrowableThat()
          .withMessageContaining("too large to be increased");

      assertThat(redis.hgetall(prefix + "settings")).isEqualTo(huge);
      assertThat(isObserved(one, "other")).isFalse();
    }
  }

  @Test
  void tooManyFieldsAreNotRead() {
    Map<String, String> many = new HashMap<>(Map.of("version", "1"));
    for (int i = 0; i < 4_000; i++) {
      many.put("any.rules.r" + i + ".count", "1");
    }
    redis.hset(prefix + "settings", many);
    try (ApplicationContext one = start()) {
      awaitProblem(one, "has too many fields");

      assertThat(count(one, "shared")).isEqualTo(5);
    }
  }

  @Test
  void theScriptRunsTheCommandsOfTheDocsAlone() throws IOException {
    String script;
    try (var source =
        Objects.requireNonNull(SharedSettings.class.getResourceAsStream("shared-settings.lua"))) {
      script = new String(source.readAllBytes(), StandardCharsets.UTF_8);
    }

    assertThat(Pattern.compile("call\\('([A-Z]+)'").matcher(script).results())
        .extracting(call -> "+" + call.group(1).toLowerCase(Locale.ROOT))
        .containsOnly("+hgetall", "+hlen", "+hget", "+hset");
    assertThat(Files.readString(Path.of("..", "docs", "operations.md")))
        .contains("needs `+hgetall +hlen`, and `+hget +hset` for the endpoint");
  }

  /** No number has more digits that a script could increase. */
  @ParameterizedTest
  @ValueSource(strings = {"999999999999999999", "-1", "1.5", "nan", "one\nWARN forged"})
  void anotherVersionThanANumberIsRefused(String version) {
    redis.hset(prefix + "settings", Map.of("version", version, COUNT, "8"));
    try (ApplicationContext one = start()) {
      awaitProblem(one, "have the version '" + version.replace('\n', '?') + "', so");
      assertThat(count(one, "shared")).isEqualTo(5);
    }
  }

  /** It would forge a line of the log. */
  @ParameterizedTest
  @ValueSource(strings = {"shared\nWARN forged.enabled = true", COUNT + " = 8\nWARN forged"})
  void whatIsNotPrintedIsRefused(String field) {
    String[] parts = field.split(" = ");
    redis.hset(prefix + "settings", Map.of("version", "1", parts[0], parts[1]));
    try (ApplicationContext one = start()) {
      awaitProblem(one, "has characters that are not printed: write it again");
      assertThat(status(one).problem().orElseThrow()).doesNotContain("\n");
      assertThat(count(one, "shared")).isEqualTo(5);
    }
  }

  @Test
  void withoutAVersionNothingIsUsed() {
    redis.hset(prefix + "settings", COUNT, "8");
    try (ApplicationContext one = start()) {
      awaitProblem(one, "have no version");
      assertThat(count(one, "shared")).isEqualTo(5);
    }
  }

  /** With a server, and without one. */
  @Test
  void eachStartHasThemInItsFirstDecision() {
    for (int i = 0; i < 10; i++) {
      String own = prefix + i + ":";
      redis.hset(own + "settings", Map.of("version", "3", "first.rules.5-per-60s.count", "2"));
      Map<String, Object> settings =
          settings(
              "limiter.redis.key-prefix",
              own,
              "limiter.redis.shared-settings.interval",
              "1h",
              "calls-at-the-start",
              true);
      try (RecordedLog log = RecordedLog.ofInfo("io.limiter");
          AutoCloseable service =
              i % 2 == 0 ? HttpService.start(SPEC, settings) : ApplicationContext.run(settings)) {
        ApplicationContext context =
            service instanceof HttpService http ? http.context() : (ApplicationContext) service;

        assertThat(context.getBean(FirstCalls.class).admitted).as("start %d", i).isEqualTo(2);
        assertThat(ofShared(log))
            .containsExactly("INFO The shared settings of version 3 are in use");
        assertThat(status(context).problem()).isEmpty();
      } catch (Exception e) {
        throw new AssertionError(e);
      }
      redis.keys(own + "*").forEach(redis::del);
    }
  }

  @Test
  void withoutRedisTheStartUsesTheFilesAndTheReadIsRepeatedSoon() {
    long before = System.nanoTime();
    try (RedisProcess away = RedisProcess.onFreePort();
        RecordedLog log = RecordedLog.ofInfo("io.limiter");
        ApplicationContext one =
            start(
                "redis.uri", away.uri(),
                "limiter.redis.start-timeout", "60s",
                "limiter.redis.shared-settings.interval", "1h")) {
      assertThat(Duration.ofNanos(System.nanoTime() - before)).isLessThan(Duration.ofSeconds(20));
      assertThat(count(one, "shared")).isEqualTo(5);
      assertThat(ofShared(log))
          .singleElement()
          .asString()
          .startsWith(
              "WARN The shared settings cannot be read, so the settings of the files remain in effect: Redis at");
      assertThat(status(one).lastRead()).isEmpty();
      awaitProblem(one, "cannot be read");

      away.start();
      await().until(() -> status(one).problem().isEmpty());
      assertThat(status(one).lastRead()).isPresent();
      assertThat(ofShared(log))
          .hasSize(2)
          .last()
          .isEqualTo(
              "INFO The shared settings have no problem any more: the settings of the files are in use");
    }
  }

  @Test
  void aRedisThatIsSilentDelaysTheStartByTheWarmUpAndIsReadSoonAfterwards() {
    try (RedisProcess silent = RedisProcess.onFreePort().start()) {
      RedisClient own = RedisClient.create(silent.uri());
      try (StatefulRedisConnection<String, String> writer = own.connect()) {
        writer.sync().hset(prefix + "settings", Map.of("version", "3", COUNT, "8"));
      } finally {
        own.shutdown(Duration.ZERO, Duration.ofSeconds(1));
      }
      silent.suspend();
      long before = System.nanoTime();
      Map<String, Object> settings =
          settings(
              "redis.uri", silent.uri(),
              "limiter.redis.start-timeout", "500ms",
              "limiter.redis.shared-settings.interval", "1h");
      try (RecordedLog log = RecordedLog.ofInfo("io.limiter");
          HttpService service = HttpService.start(SPEC, settings)) {
        ApplicationContext one = service.context();
        assertThat(Duration.ofNanos(System.nanoTime() - before))
            .isGreaterThanOrEqualTo(Duration.ofMillis(500));
        assertThat(count(one, "shared")).isEqualTo(5);
        awaitProblem(one, "the settings of the files remain in effect");

        silent.resume();
        await().until(() -> count(one, "shared") == 8);
        await().until(() -> status(one).problem().isEmpty());
        assertThat(ofShared(log))
            .hasSize(2)
            .last()
            .isEqualTo("INFO The shared settings of version 3 are in use");
      }
    }
  }

  @Test
  void aFailureInBetweenIsLoggedOnceAndSoIsItsEnd() {
    try (RedisProcess own = RedisProcess.onFreePort().start();
        ApplicationContext one = start("redis.uri", own.uri());
        RecordedLog log = RecordedLog.ofInfo("io.limiter")) {
      assertThat(status(one).problem()).isEmpty();
      for (int i = 1; i <= 2; i++) {
        own.kill();
        awaitProblem(one, "cannot be read, so the settings of the files remain in effect");
        own.start();
        await().until(() -> status(one).problem().isEmpty());
        assertThat(ofShared(log)).hasSize(2 * i);
      }
    }
  }

  @Test
  void anotherContentOfTheSameVersionWarnsOnce() {
    String warning =
        "The shared settings have changed and still have version 3, so the change is ignored: increase the version";
    redis.hset(prefix + "settings", Map.of("version", "3", COUNT, "8"));
    try (ApplicationContext one = start();
        RecordedLog log = RecordedLog.ofInfo("io.limiter")) {
      redis.hset(prefix + "settings", COUNT, "9");
      awaitProblem(one, warning);
      awaitRead(one);
      awaitRead(one);
      assertThat(ofShared(log)).containsExactly("WARN " + warning);
      assertThat(count(one, "shared")).isEqualTo(8);

      redis.hset(prefix + "settings", COUNT, "10");
      await().until(() -> ofShared(log).size() == 2);
      assertThat(ofShared(log)).containsOnly("WARN " + warning);

      redis.hset(prefix + "settings", COUNT, "8");
      await().until(() -> status(one).problem().isEmpty());
      assertThat(ofShared(log))
          .last()
          .isEqualTo("INFO The shared settings have no problem any more: version 3 is in use");

      redis.hset(prefix + "settings", Map.of("version", "4", COUNT, "10"));
      await().until(() -> count(one, "shared") == 10);
      await().until(() -> status(one).version().getAsLong() == 4);
      assertThat(status(one).problem()).isEmpty();
    }
  }

  @Test
  void whatIsInUseMayFollowARejectedVersion() {
    Map<String, String> good = Map.of("version", "3", COUNT, "8");
    redis.hset(prefix + "settings", good);
    try (ApplicationContext one = start()) {
      redis.hset(prefix + "settings", Map.of("version", "4", COUNT, "0"));
      awaitProblem(one, "of version 4 are ignored");
      assertThat(status(one).version()).hasValue(3);

      redis.hset(prefix + "settings", good);
      await().until(() -> status(one).problem().isEmpty());
      assertThat(count(one, "shared")).isEqualTo(8);
    }
  }

  private static double gauge(HttpService service, String name) {
    return Optional.ofNullable(service.bean(MeterRegistry.class).find(name).gauge())
        .map(Gauge::value)
        .orElse(-1.0);
  }

  @Test
  void theStateAndTheMetersShowThem() {
    try (HttpService service =
        HttpService.start(SPEC, settings("micronaut.metrics.enabled", true))) {
      Instant before = status(service.context()).lastRead().orElseThrow();
      assertThat(status(service.context()).version()).isEmpty();
      assertThat(status(service.context()).problem()).isEmpty();
      assertThat(gauge(service, "limiter.shared.settings.version")).isZero();
      assertThat(gauge(service, "limiter.shared.settings.problem")).isZero();

      redis.hset(prefix + "settings", Map.of("version", "3", COUNT, "8"));
      await().until(() -> status(service.context()).version().orElse(0) == 3);
      assertThat(status(service.context()).lastRead().orElseThrow()).isAfter(before);
      assertThat(gauge(service, "limiter.shared.settings.version")).isEqualTo(3);

      redis.hset(prefix + "settings", Map.of("version", "4", COUNT, "many"));
      await().until(() -> status(service.context()).problem().isPresent());
      assertThat(status(service.context()).problem())
          .contains(
              "The shared settings of version 4 are ignored: limiter.policies.shared.rules.5-per-60s.count = many in Redis: set it to a whole number");
      assertThat(status(service.context()).version()).hasValue(3);
      assertThat(gauge(service, "limiter.shared.settings.version")).isEqualTo(3);
      assertThat(gauge(service, "limiter.shared.settings.problem")).isEqualTo(1);
    }
  }

  @Test
  void noMeterShowsThemWhereTheyAreOff() {
    Map<String, Object> settings = new HashMap<>(settings("micronaut.metrics.enabled", true));
    settings.put("limiter.redis.shared-settings.enabled", "off");
    try (HttpService service = HttpService.start(SPEC, settings)) {
      assertThat(gauge(service, "limiter.shared.settings.version")).isEqualTo(-1);
      assertThat(gauge(service, "limiter.shared.settings.problem")).isEqualTo(-1);
    }
  }
}
