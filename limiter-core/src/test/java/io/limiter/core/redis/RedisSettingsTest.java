// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.limiter.core.Policy;
import io.limiter.core.rule.SlidingWindowLogRule;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RedisSettingsTest {

  private final RedisSettings settings = RedisSettings.defaults();

  @Test
  void aPolicyHasTheCommonDeadlineUnlessItHasItsOwn() {
    RedisSettings own = settings.withPolicyDeadlines(Map.of("sms", Duration.ofMillis(20)));

    assertThat(own.deadline(policy("sms"))).isEqualTo(Duration.ofMillis(20));
    assertThat(own.deadline(policy("login"))).isEqualTo(RedisSettings.DEFAULT_DEADLINE);
  }

  @ParameterizedTest
  @ValueSource(strings = {"PT0S", "PT-1S", "PT0.0009S", "PT10.001S"})
  void aDeadlineIsOneMillisecondToTenSeconds(Duration deadline) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new RedisSettings("", deadline))
        .withMessage("The Redis deadline %s is invalid: use 1 ms to 10 s", deadline);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> settings.withPolicyDeadlines(Map.of("sms", deadline)))
        .withMessage(
            "The Redis deadline of the policy 'sms', %s is invalid: use 1 ms to 10 s", deadline);
  }

  @ParameterizedTest
  @CsvSource({"PT0.001S, PT2S", "PT1S, PT2S", "PT1.1S, PT2.2S", "PT10S, PT20S"})
  void theHardDeadlineIsTwoSecondsOrTwiceTheDeadline(Duration deadline, Duration hard) {
    assertThat(settings.hardDeadline(deadline)).isEqualTo(hard);
    assertThat(settings.withPolicyDeadlines(Map.of("sms", deadline)).longestWait()).isEqualTo(hard);
  }

  @ParameterizedTest
  @ValueSource(strings = {"PT0.199S", "PT60.001S"})
  void aHardDeadlineIsNoShorterThanTheLongestDeadline(Duration hard) {
    RedisSettings own = settings.withPolicyDeadlines(Map.of("sms", Duration.ofMillis(200)));

    assertThatIllegalArgumentException()
        .isThrownBy(() -> own.withHardDeadline(hard))
        .withMessage(
            "The hard deadline %s is invalid: use a time from the longest deadline, PT0.2S, to 1 min",
            hard);
    assertThat(own.withHardDeadline(Duration.ofMillis(200)).hardDeadline(Duration.ofMillis(5)))
        .isEqualTo(Duration.ofMillis(200));
  }

  private static Policy policy(String name) {
    return Policy.of(name, SlidingWindowLogRule.of(1, Duration.ofHours(1)));
  }
}
