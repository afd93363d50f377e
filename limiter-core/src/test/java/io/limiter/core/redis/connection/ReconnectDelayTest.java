// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ReconnectDelayTest {

  private final LettuceClients.ReconnectDelay delay = new LettuceClients.ReconnectDelay();

  @ParameterizedTest
  @CsvSource({"0,200", "1,200", "2,400", "3,800", "4,1000", "5,1000", "9223372036854775807,1000"})
  void itIsDrawnFromTheWholeTimeUpToItsBound(long attempt, int bound) {
    List<Duration> drawn = Stream.generate(() -> delay.createDelay(attempt)).limit(10_000).toList();

    assertThat(drawn)
        .allMatch(one -> one.toMillis() >= 10 && one.toMillis() <= bound)
        .anyMatch(one -> one.toMillis() < 10 + bound / 10)
        .anyMatch(one -> one.toMillis() > bound - bound / 10);
  }

  @Test
  void noMomentIsLikelierThanAnother() {
    long inFirstHalf =
        Stream.generate(() -> delay.createDelay(1))
            .limit(10_000)
            .filter(one -> one.toMillis() < 105)
            .count();

    assertThat(inFirstHalf).isBetween(4_500L, 5_500L);
  }
}
