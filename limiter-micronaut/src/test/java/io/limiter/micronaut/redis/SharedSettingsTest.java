// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.limiter.core.testing.RedisFixture;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.config.SettingsRefresh.SettingsShare;
import io.limiter.micronaut.plan.LimitPolicies;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
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

  private ApplicationContext start() {
    return ApplicationContext.run(
        Map.of(
            "spec.name",
            SPEC,
            "redis.uri",
            RedisFixture.uri(),
            "limiter.redis.key-prefix",
            prefix,
            "limiter.redis.shared-settings.enabled",
            true,
            "limiter.redis.shared-settings.interval",
            "100ms"));
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
      await().pollDelay(Duration.ofMillis(400)).until(() -> true);
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
      await().pollDelay(Duration.ofMillis(400)).until(() -> true);
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
          .isEqualTo(true);

      assertThat(redis.hgetall(prefix + "settings"))
          .isEqualTo(Map.of("version", "8", COUNT, "8", "other.observe", "true"));
      assertThat(isObserved(one, "other")).isTrue();
      await().until(() -> isObserved(two, "other"));
      assertThat(count(two, "shared")).isEqualTo(8);

      redis.hset(prefix + "settings", Map.of("version", "20", COUNT, "3"));
      assertThat(two.getBean(SettingsShare.class).set("other.observe", "false"))
          .succeedsWithin(Duration.ofSeconds(10))
          .isEqualTo(true);
      assertThat(redis.hgetall(prefix + "settings"))
          .isEqualTo(Map.of("version", "21", COUNT, "3", "other.observe", "false"));
      await().until(() -> count(one, "shared") == 3 && !isObserved(one, "other"));
    }
  }

  @Test
  void aVersionThatCannotGrowIsAnErrorAndChangesNothing() {
    Map<String, String> huge = Map.of("version", "999999999999999999", COUNT, "8");
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
  void withoutAVersionNothingIsUsed() {
    redis.hset(prefix + "settings", COUNT, "8");
    try (ApplicationContext one = start()) {
      await().pollDelay(Duration.ofMillis(400)).until(() -> true);
      assertThat(count(one, "shared")).isEqualTo(5);
    }
  }
}
