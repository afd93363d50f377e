// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static io.limiter.core.StoreHarness.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.FadingCounter;
import io.limiter.core.Mode;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The meaning of the numbers that a Redis script stores, and of invalid ones. */
class StoredCellTest {

  private static final Rule COUNTER = SlidingWindowCounterRule.of(10, SECOND);
  private static final Rule WINDOW = FixedWindowRule.of(10, SECOND);
  private static final Rule ALIGNED = FixedWindowRule.aligned(10, SECOND, ZoneOffset.UTC);
  private static final Rule BUCKET = TokenBucketRule.of(10, 2, SECOND);
  private static final Rule BY_INTERVAL = TokenBucketRule.of(10, 2, SECOND).byInterval();
  private static final Rule CUSTOM = CustomRule.of(new FadingCounter(), 10, SECOND, 2.0);
  private static final LeakyBucketRule LEAKY =
      LeakyBucketRule.of(2, SECOND, 10, SECOND.multipliedBy(10));

  private static final List<Rule> ALL =
      List.of(COUNTER, WINDOW, ALIGNED, BUCKET, BY_INTERVAL, LEAKY, CUSTOM);

  /** Half a second after the window of the numbers began. */
  private static final long NOW = 2_500_000;

  private static CellReadout read(Rule rule, long now, double... numbers) {
    Cell cell = CellState.cell(rule);
    double[] all = Arrays.copyOf(numbers, cell.size());
    if (rule == BUCKET || rule instanceof LeakyBucketRule) {
      all[all.length - 1] = cell.plan(0)[1]; // parts of a token, or of a microsecond
    }
    return CellState.stored(rule, now, all).read(rule, now, 1, Mode.PEEK);
  }

  private static long left(Rule rule, double... numbers) {
    return read(rule, NOW, numbers).remainingBefore();
  }

  @ParameterizedTest
  @ValueSource(doubles = {-1, 0, Double.NaN, NOW + 1, Double.POSITIVE_INFINITY})
  void aRuleWithAnImpossibleTimeCountsAsUnused(double first) {
    for (Rule rule : ALL) {
      double[] numbers = new double[CellState.cell(rule).size()];
      Arrays.fill(numbers, 5);
      numbers[0] = first;
      assertThat(CellState.stored(rule, NOW, numbers).numbers())
          .as("%s", rule)
          .isEqualTo(CellState.unused(rule).numbers());
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1_000_000, NOW})
  void aTimeUntilNowIsValid(long now) {
    assertThat(read(COUNTER, now, now - now % 1_000_000, 3, 0).remainingBefore()).isEqualTo(7);
    assertThat(read(WINDOW, now, now, 3).remainingBefore()).isEqualTo(7);
    assertThat(read(ALIGNED, now, now - now % 1_000_000, 3).remainingBefore()).isEqualTo(7);
    assertThat(read(BUCKET, now, now, 1_500_000).remainingBefore()).isEqualTo(7);
    assertThat(read(BY_INTERVAL, now, now, 3).remainingBefore()).isEqualTo(7);
    assertThat(read(LEAKY, now, now, 1_500_000).remainingBefore()).isEqualTo(8);
    assertThat(read(CUSTOM, now, now, now, 3).remainingBefore()).isEqualTo(7);
  }

  @Test
  void aCounterStoresItsWindowsStartAndTheUnitsOfTwoWindows() {
    assertThat(left(COUNTER, 2_000_000, 3, 4)).isEqualTo(5);
    assertThat(left(COUNTER, 1_000_000, 3, 4)).isEqualTo(8);
    assertThat(left(COUNTER, 0, 3, 4)).isEqualTo(10);
  }

  @Test
  void aWindowStoresItsStartAndItsUnits() {
    CellReadout readout = read(WINDOW, NOW, 1_600_000, 3);
    assertThat(readout.remainingBefore()).isEqualTo(7);
    assertThat(readout.resetAfterMicros(false)).isEqualTo(100_000);
    assertThat(left(WINDOW, 1_500_001, 3)).isEqualTo(7);
    assertThat(left(WINDOW, 1_500_000, 3)).isEqualTo(10);
  }

  @Test
  void anAlignedWindowCountsUnitsUsedSinceItsStart() {
    CellReadout readout = read(ALIGNED, NOW, 2_000_000, 3);
    assertThat(readout.remainingBefore()).isEqualTo(7);
    assertThat(readout.resetAfterMicros(false)).isEqualTo(500_000);
    assertThat(left(ALIGNED, 1_000_000, 3)).isEqualTo(10);
    assertThat(left(ALIGNED, 1_999_999, 3)).isEqualTo(10);
    assertThat(left(ALIGNED, 2_100_000, 3)).isEqualTo(7); // under other rules
  }

  @Test
  void aBucketStoresItsLastTimeAndItsMissingParts() {
    CellReadout readout = read(BUCKET, NOW, 2_000_000, 1_600_000); // 500,000 parts are a token
    assertThat(readout.remainingBefore()).isEqualTo(7);
    assertThat(readout.retryAfterMicros(false)).isEqualTo(100_000);
    assertThat(readout.resetAfterMicros(false)).isEqualTo(1_100_000);
  }

  @Test
  void aBucketByIntervalStoresItsLastRefillAndItsMissingTokens() {
    CellReadout readout = read(BY_INTERVAL, NOW, 1_200_000, 5);
    assertThat(readout.remainingBefore()).isEqualTo(7);
    assertThat(readout.retryAfterMicros(false)).isEqualTo(700_000);
  }

  @Test
  void aLeakyBucketStoresItsLastTimeAndThePartsUntilTheNextDeparture() {
    CellReadout readout = read(LEAKY, NOW, 2_000_000, 1_600_000);
    assertThat(readout.remainingBefore()).isEqualTo(8);
    assertThat(readout.delayMicros()).isEqualTo(1_100_000);
  }

  @Test
  void aCustomAlgorithmStoresTheTimeOfTheLastCallAndItsNumbers() {
    assertThat(left(CUSTOM, 2_000_000, 2_000_000, 8)).isEqualTo(2);
    assertThat(left(CUSTOM, 2_000_000, 1_000_000, 8)).isEqualTo(6);
    assertThat(left(CUSTOM, 500_001, 2_000_000, 8)).isEqualTo(2);
    assertThat(left(CUSTOM, 500_000, 2_000_000, 8)).as("forgotten").isEqualTo(10);
  }

  @ParameterizedTest
  @ValueSource(doubles = {Double.NaN, -1, -0x1p60, 0x1p53, 0x1p70, Double.POSITIVE_INFINITY})
  void impossibleUnitsAreIgnored(double units) {
    assertThat(left(COUNTER, 2_000_000, units, 4)).isEqualTo(8);
    assertThat(left(COUNTER, 2_000_000, 3, units)).isEqualTo(7);
    assertThat(left(WINDOW, 2_000_000, units)).isEqualTo(10);
    assertThat(left(ALIGNED, 2_000_000, units)).isEqualTo(10);
    assertThat(left(BUCKET, 2_000_000, units)).isEqualTo(10);
    assertThat(left(BY_INTERVAL, 2_000_000, units)).isEqualTo(10);
    assertThat(left(LEAKY, 2_000_000, units)).isEqualTo(11);
  }

  @Test
  void theMostUnitsThatAreExactCount() {
    assertThat(left(WINDOW, 2_000_000, 0x1p53 - 1)).isEqualTo(10 - (1L << 53) + 1);
  }

  private static double gap(long from, long length, long free) {
    return from * 0x1p34 + length * 0x1p17 + free;
  }

  @Test
  void partsOfAnotherRefillOrRateAreConvertedAndRoundedUp() {
    CellState bucket = CellState.stored(BUCKET, NOW, NOW, 8, 3);
    assertThat(bucket.read(BUCKET, NOW, 1, Mode.PEEK).resetAfterMicros(false))
        .as("two tokens and two thirds")
        .isEqualTo(2 * 500_000 + 333_334);
    CellState queue = CellState.stored(LEAKY, NOW, NOW, 10, gap(1, 1, 1), 3);
    CellReadout readout = queue.read(LEAKY, NOW, 1, Mode.PEEK);
    assertThat(readout.delayMicros()).as("three and a third").isEqualTo(4);
    for (double scale : new double[] {0, -1, Double.NaN, 0x1p60}) {
      CellState broken = CellState.stored(BUCKET, NOW, NOW, 8, scale);
      assertThat(broken.read(BUCKET, NOW, 1, Mode.PEEK).resetAfterMicros(false)).isZero();
    }
  }

  /** The state after five calls in a queue of ten, the first of which departs at once. */
  private static CellReadout queue(boolean fair, double gap) {
    double[] numbers = new double[CellState.cell(LEAKY).size()];
    numbers[0] = NOW;
    numbers[1] = 2_500_000;
    numbers[2] = gap;
    return read(LEAKY.withFair(fair), NOW, numbers);
  }

  @Test
  void departuresThatWereGivenUpAreThreeNumbersInOne() {
    assertThat(queue(true, 0).remainingBefore()).isEqualTo(6);
    assertThat(queue(true, gap(3, 2, 2)).remainingBefore()).isEqualTo(8);
    assertThat(queue(true, gap(3, 3, 3)).remainingBefore()).as("the last ones").isEqualTo(9);
    assertThat(queue(false, gap(3, 2, 2)).delayMicros()).isEqualTo(1_000_000);
    assertThat(queue(false, gap(4, 3, 2)).remainingBefore()).isEqualTo(8);
    assertThat(queue(false, gap(4, 3, 2)).delayMicros()).isEqualTo(2_500_000);
    assertThat(queue(false, gap(4, 1, 1)).delayMicros()).isEqualTo(500_000);
  }

  @Test
  void theLongestQueueFitsInTheNumbers() {
    LeakyBucketRule quick =
        LeakyBucketRule.of(400, SECOND, 10_000, SECOND.multipliedBy(300)).withFair(false);
    double ahead = 110_001 * 2_500.0;
    CellReadout readout = read(quick, NOW, NOW, ahead, gap(100_000, 99_500, 99_500));
    assertThat(readout.remainingBefore()).isEqualTo(10_001 - 110_001 + 99_500);
    assertThat(readout.delayMicros()).isEqualTo(10_001 * 2_500);
  }

  @Test
  void anImpossibleGapIsIgnored() {
    double[] broken = {
      gap(3, 2, 0), gap(3, 2, 3), gap(3, 4, 4), gap(0, 0, 0), -1, Double.NaN, 0x1p53, 0x1p60
    };
    for (double one : broken) {
      assertThat(queue(true, one).remainingBefore()).as("%s", one).isEqualTo(6);
    }
  }
}
