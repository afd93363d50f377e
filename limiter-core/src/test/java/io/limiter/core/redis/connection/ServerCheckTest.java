// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.SharedConnection;
import io.limiter.core.redis.connection.ConnectionLog.ServerCheck;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisProcess;
import java.nio.file.Path;
import java.time.Duration;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ServerCheckTest {

  @ParameterizedTest
  @ValueSource(strings = {"6.2.0", "6.10.1", "7.0.15", "10.1.0"})
  void versionsThatItIsTestedWithAreFine(String version) {
    assertThat(ServerCheck.warnings("redis_version:" + version + "\r\n", false)).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"6.0.16", "5.0.7", "2.8.24"})
  void olderOnesAreNamed(String version) {
    assertThat(ServerCheck.warnings("# Server\r\nredis_version:" + version + "\r\n", false))
        .containsExactly(
            "is older than 6.2, the oldest version that the limiter is tested with: use 6.2 or later");
  }

  @Test
  void warningsNameTheServerAsItNamesItself() {
    assertThat(ServerCheck.product("redis_version:8.0.2\r\n")).isEqualTo("(Redis 8.0.2) ");
    assertThat(ServerCheck.product("redis_version:7.2.4\r\nvalkey_version:8.1.1\r\n"))
        .isEqualTo("(Valkey 8.1.1) ");
    assertThat(ServerCheck.product("")).isEmpty();
  }

  @Test
  void missingInformationCausesNoWarning() {
    assertThat(ServerCheck.warnings("# Server\r\nvalkey:8\r\n", false)).isEmpty();
  }

  @Test
  void oneNodeOfAClusterIsNamedUnlessItIsKnownAsSuch(@TempDir Path directory) {
    try (RedisProcess redis =
        RedisProcess.onFreePort(
                "--cluster-enabled",
                "yes",
                "--cluster-config-file",
                directory.resolve("nodes.conf").toString())
            .start()) {
      try (RedisClient client = RedisClient.create(redis.uri())) {
        client.connect().sync().clusterAddSlots(IntStream.range(0, 16_384).toArray());
      }
      assertNamedOnce(
          redis,
          "is one node of a Redis Cluster: name several of its nodes in redis.uris instead of redis.uri, so that each start finds one of them");
    }
    assertThat(ServerCheck.warnings("cluster_enabled:1\r\n", true)).isEmpty();
    assertThat(ServerCheck.warnings("cluster_enabled:0\r\n", false)).isEmpty();
  }

  @Test
  void aRedisThatEvictsIsNamedOnceHoweverManyConnectionsThereAre() {
    try (RedisProcess redis =
        RedisProcess.onFreePort("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
            .start()) {
      assertNamedOnce(
          redis,
          "has maxmemory-policy allkeys-lru, so it may evict state, and then the limiter admits too many calls: set noeviction, or use a separate Redis for the limiter");
    }
  }

  private static void assertNamedOnce(RedisProcess redis, String warning) {
    try (RecordedLog log = RecordedLog.of(SharedConnection.class)) {
      SharedConnection connection =
          SharedConnection.open(RedisURI.create(redis.uri()), RedisSettings.defaults());
      try {
        await()
            .atMost(Duration.ofSeconds(5))
            .untilAsserted(
                () ->
                    assertThat(log.messages())
                        .containsOnlyOnce(
                            "Redis at 127.0.0.1:%s (%s) %s"
                                .formatted(redis.port(), redis.product(), warning)));
      } finally {
        connection.close();
      }
    }
  }
}
