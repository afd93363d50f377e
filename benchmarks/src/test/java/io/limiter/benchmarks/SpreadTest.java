// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

class SpreadTest {

  @Test
  void theMedianIsTheOneInTheMiddleOrBetweenTheTwo() {
    assertThat(Spread.of(List.of(9.0, 1.0, 2.0)))
        .isEqualTo(new Spread(2, 1, 9, List.of(9.0, 1.0, 2.0)));
    assertThat(Spread.of(List.of(9.0, 1.0, 2.0, 4.0)))
        .isEqualTo(new Spread(3, 1, 9, List.of(9.0, 1.0, 2.0, 4.0)));
    assertThatThrownBy(() -> Spread.of(List.of()))
        .hasMessage("Nothing was measured: measure at least one round");
  }

  @Test
  void threeDigitsAreShown() {
    assertThat(Spread.of(List.of(0.9321, 0.9, 0.954))).hasToString("0.932 (0.900–0.954)");
    assertThat(Spread.of(List.of(71_552.4, 60_000.0, 80_000.0)))
        .hasToString("71,552 (60,000–80,000)");
    assertThat(Spread.of(List.of(12.34, 12.34))).hasToString("12.3");
  }

  @Test
  void theMedianDecidesWhetherAGoalIsReached() {
    Spread found = Spread.of(List.of(0.86, 0.5, 0.9));

    assertThat(Goal.atLeast(0.85, found)).hasToString("≥ 0.85: reached");
    assertThat(Goal.atLeast(0.87, found)).hasToString("≥ 0.87: missed");
    assertThat(Goal.atMost(0.55, found)).hasToString("≤ 0.55: missed");
    assertThat(Goal.atMost(7, found)).hasToString("≤ 7: reached");
    assertThat(Goal.atMost(12, found)).hasToString("≤ 12: reached");
    assertThat(Goal.atMost(150, found)).hasToString("≤ 150: reached");
  }
}
