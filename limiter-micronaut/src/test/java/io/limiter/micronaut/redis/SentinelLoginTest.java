// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.DecidedBy;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisProcess;
import io.limiter.core.testing.SentinelGroup;
import io.limiter.micronaut.config.RedisConfiguration.SentinelConfiguration;
import io.limiter.micronaut.testing.Starts;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Sentinels that ask for a password, which differs from that of Redis: it has none. */
class SentinelLoginTest {

  private static final String PASSWORD = "s3cret-of-sentinels";
  private static final Duration PATIENCE = Duration.ofSeconds(15);

  @AutoClose private final SentinelGroup group = SentinelGroup.lone();
  @AutoClose private final RecordedLog log = RecordedLog.ofInfo("ROOT");

  @ParameterizedTest
  @ValueSource(strings = {"default", "limiter"})
  void thePasswordOfTheSettingsIsTheirs(String user) {
    group.require(user, PASSWORD);
    try (Service service =
        user.equals("default")
            ? start("limiter.redis.sentinel.password", PASSWORD)
            : start(
                "limiter.redis.sentinel.username", user,
                "limiter.redis.sentinel.password", PASSWORD)) {
      await().atMost(PATIENCE).until(service::decidesInRedis);

      assertThat(service.bean(SentinelConfiguration.class).toString()).doesNotContain(PASSWORD);
      assertSecret();
    }
  }

  @ParameterizedTest
  @CsvSource({"another, WRONGPASS", "'', NOAUTH"})
  void withAnotherOrNoneTheFallbackDecidesAndOneLineNamesTheSetting(String other, String error) {
    group.require("default", PASSWORD);
    String sentinel = ":" + group.sentinels().get(0).port();
    try (Service service =
        other.isEmpty() ? start() : start("limiter.redis.sentinel.password", other)) {
      assertThat(service.call().decidedBy()).isEqualTo(DecidedBy.FALLBACK);

      await()
          .during(Duration.ofSeconds(2))
          .atMost(PATIENCE)
          .untilAsserted(
              () ->
                  assertThat(log.lines())
                      .filteredOn(line -> line.contains(sentinel + " answered"))
                      .singleElement()
                      .asString()
                      .matches(
                          "WARN No connection to Redis master .* answered with the error %s.*limiter\\.redis\\.sentinel"
                              .formatted(error)));
      assertSecret();
    }
  }

  @Test
  void aUserWithoutAPasswordStopsTheStart() {
    assertThat(Starts.mistake(Map.of("limiter.redis.sentinel.username", "ann")))
        .hasMessage(
            "limiter.redis.sentinel.username = ann: a user needs a password, so set limiter.redis.sentinel.password too");
  }

  private Service start(Object... settings) {
    RedisProcess primary = group.servers().get(0);
    Object[] all = new Object[settings.length + 2];
    all[0] = "redis.uri";
    all[1] = group.uri();
    System.arraycopy(settings, 0, all, 2, settings.length);
    return Service.start(primary, all);
  }

  private void assertSecret() {
    assertThat(String.join("\n", log.lines())).doesNotContain(PASSWORD);
  }
}
