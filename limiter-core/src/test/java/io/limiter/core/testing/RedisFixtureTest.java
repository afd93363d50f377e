// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisClient;
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
}
