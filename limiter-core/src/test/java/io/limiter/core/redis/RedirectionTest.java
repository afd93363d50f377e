// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisCommandExecutionException;
import io.limiter.core.redis.ClusterSource.Redirection;
import io.limiter.core.redis.ConnectionSource.NodeAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RedirectionTest {

  @Test
  void itNamesTheSlotAndTheNode() {
    assertThat(of("MOVED 3999 10.0.0.1:6381"))
        .isEqualTo(new Redirection(3999, new NodeAddress("10.0.0.1", 6381), false));
    assertThat(of("ASK 3999 one.example:6381"))
        .isEqualTo(new Redirection(3999, new NodeAddress("one.example", 6381), true));
    assertThat(of("MOVED 3999 ::1:6381").address()).isEqualTo(new NodeAddress("::1", 6381));
  }

  @Test
  void withoutAHostItIsThatOfTheReplyingNode() {
    assertThat(of("MOVED 3999 :6381").address().orAt("asked"))
        .isEqualTo(new NodeAddress("asked", 6381));
    assertThat(of("MOVED 3999 ?:6381").address().orAt("asked"))
        .isEqualTo(new NodeAddress("asked", 6381));
    assertThat(of("MOVED 3999 a:6381").address().orAt("asked"))
        .isEqualTo(new NodeAddress("a", 6381));
  }

  @ParameterizedTest
  @ValueSource(strings = {"TRYAGAIN Multiple keys", "MOVED", "MOVED x y:1", "ERR MOVED 1 a:1", ""})
  void anythingElseIsNone(String error) {
    assertThat(of(error)).isNull();
    assertThat(Redirection.of(new IllegalStateException("MOVED 1 a:1"))).isNull();
  }

  private static Redirection of(String error) {
    return Redirection.of(new RedisCommandExecutionException(error));
  }
}
