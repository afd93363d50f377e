// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.lettuce.core.RedisClient;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RedisFixtureTest {

  @Test
  void sharesOneServerThatAnswers() {
    String uri = RedisFixture.uri();
    RedisClient client = RedisClient.create(uri);
    try (var connection = client.connect()) {
      assertThat(connection.sync().ping()).isEqualTo("PONG");
    } finally {
      client.shutdown();
    }
    assertThat(RedisFixture.uri()).isEqualTo(uri);
  }

  @Test
  void takesTheServerThatIsGiven() {
    String uri = RedisFixture.uri();
    RedisFixture.Found found = RedisFixture.find(Map.of("LIMITER_TEST_REDIS_URI", uri));
    assertThat(found.uri()).isEqualTo(uri);
    assertThat(found.what()).matches("(Redis|Valkey) \\S+ given by LIMITER_TEST_REDIS_URI");
  }

  @Test
  void takesTheEmbeddedServerIfRequiredWhateverElseIsAvailable() {
    RedisFixture.Found found =
        RedisFixture.find(
            Map.of(
                "LIMITER_TEST_REDIS", "embedded",
                "LIMITER_TEST_REDIS_URI", RedisFixture.uri(),
                "DOCKER_HOST", "unix:///var/run/docker.sock"));
    assertThat(found.uri()).isNotEqualTo(RedisFixture.uri());
    assertThat(found.what()).startsWith("embedded Redis 6.2.");
  }

  @Test
  void takesTheInstalledServerIfRequired() {
    assumeThat(RedisBinary.installed()).isPresent();
    RedisFixture.Found found = RedisFixture.find(Map.of("LIMITER_TEST_REDIS", "installed"));
    assertThat(found.uri()).isNotEqualTo(RedisFixture.uri());
    assertThat(found.what()).matches("installed (Redis|Valkey) \\d\\S+");
  }

  @Test
  void namesAServerByItsOwnNameAndVersion() {
    assertThat(RedisProcess.product("redis_version:8.0.2\r\nredis_mode:standalone"))
        .isEqualTo("Redis 8.0.2");
    assertThat(RedisProcess.product("redis_version:7.2.4\r\nvalkey_version:8.1.1\r\n"))
        .isEqualTo("Valkey 8.1.1");
  }

  @Test
  void aServerThatCannotStartNamesTheReason() {
    try (RedisProcess first = RedisProcess.onFreePort().start();
        RedisProcess second = RedisProcess.onPort(first.port())) {
      assertThatThrownBy(second::start)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("on port " + first.port())
          .hasMessageContaining("Address already in use");
      assertThat(first.isRunning()).isTrue();
    }
  }

  @Test
  void namesTheVariableThatItCannotFollow() {
    assertThatThrownBy(() -> RedisFixture.find(Map.of("LIMITER_TEST_REDIS", "container")))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("LIMITER_TEST_REDIS is 'container'");
    String unusedUri = "redis://127.0.0.1:" + Ports.free();
    assertThatThrownBy(() -> RedisFixture.find(Map.of("LIMITER_TEST_REDIS_URI", unusedUri)))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining(unusedUri + " does not answer");
  }
}
