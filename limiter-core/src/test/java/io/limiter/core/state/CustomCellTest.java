// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static io.limiter.core.StoreHarness.SECOND;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.core.StoreException;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.store.Mode;
import org.junit.jupiter.api.Test;

/** How a custom algorithm is called, and which of its results are accepted. */
class CustomCellTest {

  private static CustomRule saying(double left) {
    return CustomRule.of(new ScriptedAlgorithm(), 10, SECOND, left);
  }

  /** Seven units were taken before. */
  private static CellReadout read(CustomRule rule, int cost, Mode mode) {
    return new CustomCell(rule, 0, new double[] {7}).read(rule, 500, cost, mode);
  }

  @Test
  void aCallThatTakesNothingIsEvaluatedAtCostZero() {
    CellReadout readout = read(saying(5), 3, Mode.ACQUIRE);
    assertThat(readout.remainingBefore()).isEqualTo(5);
    assertThat(readout.retryAfterMicros(true)).isEqualTo(11_003); // the same call once more
    assertThat(readout.retryAfterMicros(false)).isEqualTo(10_700);
    assertThat(readout.resetAfterMicros(true)).isEqualTo(20_703);
    assertThat(readout.resetAfterMicros(false)).isEqualTo(20_700);
  }

  @Test
  void aDeniedCallGetsTheTimeAtWhichItWouldPass() {
    CellReadout readout = read(saying(2), 3, Mode.ACQUIRE);
    assertThat(readout.retryAfterMicros(false)).isEqualTo(10_703);
    assertThat(readout.resetAfterMicros(false)).isEqualTo(20_700);
  }

  @Test
  void aRecordTakesTheUnitsLeftAndReturnsTheTimeOfTheNextOne() {
    CellReadout readout = read(saying(2), 3, Mode.RECORD);
    assertThat(readout.retryAfterMicros(true)).isEqualTo(10_901);
    assertThat(readout.resetAfterMicros(true)).isEqualTo(20_702);
    assertThat(readout.taken().read(saying(5), 500, 1, Mode.ACQUIRE).retryAfterMicros(true))
        .isEqualTo(10_901);
  }

  @Test
  void thereAreNeverMoreUnitsLeftThanTheRuleHasNorFewerThanCanBeCounted() {
    assertThat(read(saying(10), 1, Mode.PEEK).remainingBefore()).isEqualTo(10);
    assertThat(read(saying(-0x1p53), 1, Mode.PEEK).remainingBefore()).isEqualTo(-(1L << 53));
    for (double left : new double[] {11, -0x1p53 - 2}) {
      assertThatThrownBy(() -> read(saying(left), 1, Mode.PEEK))
          .isInstanceOf(StoreException.class)
          .hasMessageContaining("units left of 10");
    }
  }

  @Test
  void aCallTakesItsCostAndARecordNoMoreThanIsLeft() {
    assertThat(read(saying(5), 3, Mode.ACQUIRE).units()).isEqualTo(3);
    assertThat(read(saying(2), 3, Mode.ACQUIRE).units()).isEqualTo(3);
    assertThat(read(saying(5), 3, Mode.RECORD).units()).isEqualTo(3);
    assertThat(read(saying(2), 3, Mode.RECORD).units()).isEqualTo(2);
    assertThat(read(saying(-2), 3, Mode.RECORD).units()).isZero();
  }
}
