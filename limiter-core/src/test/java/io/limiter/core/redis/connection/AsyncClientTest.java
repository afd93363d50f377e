// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisCredentials;
import io.lettuce.core.RedisURI;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class AsyncClientTest {

  private final RedisURI uri =
      RedisURI.builder()
          .withSentinel(RedisURI.create("redis://first:1"))
          .withSentinel("second", 2, "sentinel-password")
          .withSentinel(RedisURI.create("redis://third:3"))
          .withSentinelMasterId("limits")
          .withAuthentication("limiter", "redis-password")
          .withSsl(true)
          .withTimeout(Duration.ofMillis(1_500))
          .build();

  @Test
  void eachAttemptBeginsAtTheNextSentinelAndAsksAllOfThem() {
    assertThat(hosts(0)).containsExactly("first", "second", "third");
    assertThat(hosts(1)).containsExactly("second", "third", "first");
    assertThat(hosts(5)).containsExactly("third", "first", "second");
    assertThat(hosts(Integer.MAX_VALUE + 1)).containsExactlyInAnyOrder("first", "second", "third");
  }

  @Test
  void allElseStaysAsItWas() {
    RedisURI rotated = AsyncClient.rotated(uri, 1);

    assertThat(rotated.getSentinelMasterId()).isEqualTo("limits");
    assertThat(rotated.isSsl()).isTrue();
    assertThat(rotated.getTimeout()).hasMillis(1_500);
    assertThat(credentials(rotated).getUsername()).isEqualTo("limiter");
    assertThat(credentials(rotated.getSentinels().get(0)).getPassword())
        .containsExactly("sentinel-password".toCharArray());
    assertThat(rotated.getSentinels().get(0).getPort()).isEqualTo(2);
  }

  @Test
  void aSentinelIsGivenLessTimeThanRedisSoThatTheNextCanBeAsked() {
    assertThat(AsyncClient.rotated(uri, 0).getSentinels())
        .allSatisfy(sentinel -> assertThat(sentinel.getTimeout()).hasMillis(500));
    assertThat(uri.getSentinels())
        .as("the caller's own")
        .allSatisfy(sentinel -> assertThat(sentinel.getTimeout()).hasMillis(1_500));
  }

  private List<String> hosts(int attempts) {
    return AsyncClient.rotated(uri, attempts).getSentinels().stream()
        .map(RedisURI::getHost)
        .toList();
  }

  private static RedisCredentials credentials(RedisURI of) {
    return of.getCredentialsProvider().resolveCredentials().block();
  }
}
