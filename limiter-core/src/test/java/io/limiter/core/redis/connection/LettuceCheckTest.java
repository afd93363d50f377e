// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNoException;

import io.lettuce.core.LettuceVersion;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

class LettuceCheckTest {

  @ParameterizedTest
  @ValueSource(strings = {"6.6.0.RELEASE/0a1b", "6.4.0.RELEASE", "5.3.7.RELEASE/x"})
  void versionsThatCountTwiceAreRejected(String version) {
    assertThatIllegalStateException()
        .isThrownBy(() -> LettuceClients.LettuceCheck.requireAtMostOnce(version))
        .withMessage(
            "Lettuce "
                + version
                + " sends commands again after a reconnect, so calls would count twice: use 6.7.0 or later");
  }

  @ParameterizedTest
  @ValueSource(strings = {"6.7.0.RELEASE/0a1b", "6.10.0.RELEASE", "7.0.0.BETA1", "unknown"})
  @NullSource // from a service in one jar, which has one manifest
  void othersAreNot(String version) {
    assertThatNoException()
        .isThrownBy(() -> LettuceClients.LettuceCheck.requireAtMostOnce(version));
  }

  @Test
  void theOneHereIsRead() {
    assertThatNoException()
        .isThrownBy(
            () -> LettuceClients.LettuceCheck.requireAtMostOnce(LettuceVersion.getVersion()));
  }
}
