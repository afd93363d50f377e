// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisCredentials;
import io.lettuce.core.RedisURI;
import java.util.List;
import org.junit.jupiter.api.Test;

class AsyncClientTest {

  private final List<RedisURI> sentinels =
      List.of(
          RedisURI.create("redis://first:1"),
          RedisURI.create("rediss://app:sentinel-password@second:2"),
          RedisURI.create("redis://third:3"));

  @Test
  void eachAttemptBeginsAtTheNextSentinelAndAsksAllOfThem() {
    assertThat(hosts(0)).containsExactly("first", "second", "third");
    assertThat(hosts(1)).containsExactly("second", "third", "first");
    assertThat(hosts(5)).containsExactly("third", "first", "second");
    assertThat(hosts(Integer.MAX_VALUE + 1)).containsExactlyInAnyOrder("first", "second", "third");
  }

  @Test
  void allElseStaysAsItWas() {
    RedisURI second = AsyncClient.inTurn(sentinels, 1).get(0);

    assertThat(second.isSsl()).isTrue();
    RedisCredentials credentials = second.getCredentialsProvider().resolveCredentials().block();
    assertThat(credentials.getUsername()).isEqualTo("app");
    assertThat(credentials.getPassword()).containsExactly("sentinel-password".toCharArray());
    assertThat(second.getPort()).isEqualTo(2);
  }

  @Test
  void aSentinelIsGivenLessTimeThanRedisSoThatTheNextCanBeAsked() {
    assertThat(AsyncClient.inTurn(sentinels, 0))
        .allSatisfy(sentinel -> assertThat(sentinel.getTimeout()).hasMillis(500));
    assertThat(sentinels)
        .as("the caller's own")
        .allSatisfy(sentinel -> assertThat(sentinel.getTimeout()).hasMinutes(1));
  }

  private List<String> hosts(int attempts) {
    return AsyncClient.inTurn(sentinels, attempts).stream().map(RedisURI::getHost).toList();
  }
}
