// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

class LatenciesTest {

  private final Latencies latencies = new Latencies();

  @Test
  void sharesAreReadToOnePercent() {
    for (int micros = 1; micros <= 10_000; micros++) {
      latencies.record(micros * 1_000L);
    }
    assertThat(latencies.micros(0.5)).isBetween(5_000.0, 5_050.0);
    assertThat(latencies.micros(0.99)).isBetween(9_900.0, 10_000.0);
    assertThat(latencies.count()).isEqualTo(10_000);
  }

  @Test
  void oneSlowAnswerOfAHundredIsNotTheNinetyNinth() {
    for (int i = 0; i < 99; i++) {
      latencies.record(1_000);
    }
    latencies.record(1_000_000_000);
    assertThat(latencies.micros(0.99)).isCloseTo(1, within(0.01));
    assertThat(latencies.micros(1)).isCloseTo(1_000_000, within(10_000.0));
  }

  @Test
  void theShortestAndTheLongestHaveAPlace() {
    latencies.record(0);
    assertThat(latencies.micros(1)).isZero();
    latencies.record(-5); // clocks
    latencies.record(Long.MAX_VALUE);
    assertThat(latencies.count()).isEqualTo(3);
  }

  @Test
  void withoutAnswersThereIsNoTime() {
    assertThat(latencies.micros(0.5)).isZero();
  }
}
