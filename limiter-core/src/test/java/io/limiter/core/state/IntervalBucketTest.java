// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static io.limiter.core.StoreHarness.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Mode;
import io.limiter.core.rule.TokenBucketRule;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Ten tokens, of which three come back at the end of each second; by hand. */
class IntervalBucketTest {

  private static final TokenBucketRule RULE = TokenBucketRule.of(10, 3, SECOND).byInterval();

  /** Eight were taken when the first interval began. */
  private static final CellState EIGHT = eight();

  private static CellState eight() {
    CellState unused = CellState.unused(RULE);
    return unused.after(unused.read(RULE, 7_000_000, 8, Mode.ACQUIRE));
  }

  @ParameterizedTest
  @CsvSource({
    // since, cost, left,    wait, full as it is, full once taken, again once taken
    "0,          1,    2, 1000000,       3000000,         3000000,  1000000",
    "0,          2,    2, 1000000,       3000000,         4000000,  1000000",
    "999999,     2,    2,       1,       2000001,         3000001,        1",
    "1300000,    1,    5,  700000,       1700000,         1700000,   700000",
    "1300000,    5,    5,  700000,       1700000,         3700000,  1700000",
    "2300000,    1,    8,  700000,        700000,          700000,   700000",
    "2300000,    5,    8,  700000,        700000,         2700000,   700000",
    "3000000,    4,   10, 1000000,             0,         2000000,  1000000",
    "3300000,    1,   10, 1000000,             0,         1000000,  1000000"
  })
  void anAdmittedCallGetsTheTimeOfTheNextRefillAndOfTheFullBucket(
      long since, int cost, long left, long wait, long full, long fullOnceTaken, long again) {
    CellReadout readout = EIGHT.read(RULE, 7_000_000 + since, cost, Mode.ACQUIRE);
    assertThat(readout.remainingBefore()).isEqualTo(left);
    assertThat(readout.retryAfterMicros(false)).isEqualTo(wait);
    assertThat(readout.retryAfterMicros(true)).isEqualTo(again);
    assertThat(readout.resetAfterMicros(false)).isEqualTo(full);
    assertThat(readout.resetAfterMicros(true)).isEqualTo(fullOnceTaken);
    assertThat(EIGHT.after(readout).neededUntilMicros(RULE))
        .isEqualTo(7_000_000 + since + fullOnceTaken);
  }

  @ParameterizedTest
  @CsvSource({
    // since, cost,    wait
    "0,          3, 1000000",
    "0,          5, 1000000",
    "0,          6, 2000000",
    "0,         10, 3000000",
    "1300000,    6,  700000",
    "1300000,    8,  700000",
    "1300000,    9, 1700000",
    "2300000,   10,  700000",
    "2300000,   11,      -1"
  })
  void aDeniedCallGetsTheTimeOfTheRefillThatBringsEnough(long since, int cost, long wait) {
    CellReadout readout = EIGHT.read(RULE, 7_000_000 + since, cost, Mode.ACQUIRE);
    assertThat(readout.remainingBefore()).isLessThan(cost);
    assertThat(readout.retryAfterMicros(false)).isEqualTo(wait);
  }

  @Test
  void aBucketThatWasNeverUsedIsFullAndItsFirstIntervalBeginsWithTheCall() {
    CellState unused = CellState.unused(RULE);
    CellReadout readout = unused.read(RULE, 7_300_000, 4, Mode.ACQUIRE);
    assertThat(readout.remainingBefore()).isEqualTo(10);
    assertThat(readout.retryAfterMicros(true)).isEqualTo(1_000_000);
    assertThat(readout.resetAfterMicros(false)).isZero();
    assertThat(readout.resetAfterMicros(true)).isEqualTo(2_000_000);
    CellReadout next = unused.after(readout).read(RULE, 8_000_000, 7, Mode.ACQUIRE);
    assertThat(next.retryAfterMicros(false)).isEqualTo(300_000);
  }

  @Test
  void aRecordTakesTheUnitsLeftAndWaitsForOneMore() {
    CellReadout readout = EIGHT.read(RULE, 8_300_000, 9, Mode.RECORD);
    assertThat(readout.retryAfterMicros(true)).isEqualTo(700_000);
    assertThat(readout.resetAfterMicros(true)).isEqualTo(3_700_000);
    assertThat(EIGHT.after(readout).read(RULE, 8_300_000, 1, Mode.PEEK).remainingBefore()).isZero();
  }

  @Test
  void pastUnitsThatASmallerBucketCannotHoldLeaveWhatALargerOneLacks() {
    TokenBucketRule smaller = TokenBucketRule.of(4, 3, SECOND).byInterval();
    CellState recorded = EIGHT.recorded(smaller, 7_300_000, 1);
    assertThat(recorded.read(RULE, 7_300_000, 1, Mode.PEEK).remainingBefore()).isEqualTo(2);
    assertThat(recorded.read(smaller, 7_300_000, 1, Mode.PEEK).remainingBefore()).isZero();
  }

  @Test
  void aSmallerBucketLacksNoMoreThanItHolds() {
    TokenBucketRule smaller = TokenBucketRule.of(4, 3, SECOND).byInterval();
    CellReadout readout = EIGHT.read(smaller, 7_300_000, 1, Mode.ACQUIRE);
    assertThat(readout.remainingBefore()).isZero();
    assertThat(readout.retryAfterMicros(false)).isEqualTo(700_000);
    assertThat(readout.resetAfterMicros(false)).isEqualTo(1_700_000);
  }
}
