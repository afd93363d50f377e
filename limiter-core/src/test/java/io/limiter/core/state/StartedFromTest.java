// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static io.limiter.core.StoreHarness.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.SlidingWindowCounter;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.core.store.Mode;
import java.time.Duration;
import java.time.ZoneOffset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The numbers with which a changed rule starts, and with which the fallback does. */
class StartedFromTest {

  private static final Duration TWO_SECONDS = Duration.ofSeconds(2);
  private static final long SOME_TIME = 77_000_000;

  /** Half a million parts are a token, and one part comes back each microsecond. */
  private static final TokenBucketRule BUCKET = TokenBucketRule.of(10, 2, SECOND);

  /** A million parts are a token, and three come back each microsecond. */
  private static final TokenBucketRule THIRDS = TokenBucketRule.of(100, 3, SECOND);

  private static final TokenBucketRule BY_INTERVAL = BUCKET.byInterval();

  private static final LeakyBucketRule LEAKY =
      LeakyBucketRule.of(2, SECOND, 10, SECOND.multipliedBy(10));

  private static Cell bucket(TokenBucketRule rule, long missing) {
    return Cell.unused(rule).stored(SOME_TIME, new double[] {SOME_TIME, missing});
  }

  private static Cell stored(LeakyBucketRule rule, long ahead) {
    return Cell.unused(rule).stored(SOME_TIME, new double[] {SOME_TIME, ahead, 0});
  }

  /** A token less is missing as a token less, and what is broken is rounded up. */
  @ParameterizedTest
  @CsvSource({
    "0, 0",
    "1, 1",
    "2, 1",
    "3, 2",
    "1000000, 500000",
    "2500000, 1250000",
    "2500001, 1250001",
    "10000000, 5000000",
    "10000001, 5000000",
    "9999999, 5000000",
    "9999997, 4999999",
    "99000000, 5000000"
  })
  void aBucketMissesAsManyTokens(long missing, long parts) {
    Cell unused = Cell.unused(BUCKET);

    Cell started = unused.startedFrom(bucket(THIRDS, missing), SOME_TIME + 5, SOME_TIME + 4);

    if (parts == 0) {
      assertThat(started).isSameAs(unused);
    } else {
      assertThat(started).isEqualTo(bucket(BUCKET, parts));
    }
  }

  @ParameterizedTest
  @CsvSource({"0, 0", "1, 1", "1000000, 1", "1000001, 2", "2500000, 3", "11000000, 10"})
  void aBucketByIntervalMissesWholeTokens(long missing, long tokens) {
    Cell unused = Cell.unused(BY_INTERVAL);

    Cell started = unused.startedFrom(bucket(THIRDS, missing), SOME_TIME + 5, SOME_TIME + 4);

    if (tokens == 0) {
      assertThat(started).isSameAs(unused);
    } else {
      assertThat(started).isEqualTo(bucket(BY_INTERVAL, tokens));
    }
  }

  @Test
  void aBucketMissesTheTokensOfOneByInterval() {
    Cell former = bucket(BY_INTERVAL, 4);

    assertThat(Cell.unused(THIRDS).startedFrom(former, SOME_TIME, SOME_TIME))
        .isEqualTo(bucket(THIRDS, 4_000_000));
  }

  /** At most the longest wait and a full queue. */
  @ParameterizedTest
  @CsvSource({"0, 0", "1, 1", "3000000, 1500000", "31000000, 15500000", "33000000, 15500000"})
  void aQueueIsAsLong(long ahead, long parts) {
    LeakyBucketRule thirds = LeakyBucketRule.of(3, SECOND, 100, SECOND.multipliedBy(20));
    Cell unused = Cell.unused(LEAKY);

    Cell started = unused.startedFrom(stored(thirds, ahead), SOME_TIME + 5, SOME_TIME + 4);

    if (parts == 0) {
      assertThat(started).isSameAs(unused);
    } else {
      assertThat(started).isEqualTo(stored(LEAKY, parts));
    }
  }

  /**
   * The former windows of a second begin at 9 and 10 s and have 4 and 3 units; the new ones last
   * two seconds. Units count in the last window in which they may have been used.
   */
  @ParameterizedTest
  @CsvSource({
    "10500000, 10200000, 10000000, 3, 4",
    "10500000, 10000000, 10000000, 3, 4", // at the beginning of the new window
    "12000000, 10999999, 12000000, 0, 3", // those of the former window have left
    "13000000, 12900000, 12000000, 0, 3",
    "11999999, 11000000, 10000000, 3, 4"
  })
  void aCounterStartsWithTheUnitsThatMayCount(
      long now, long newest, long begin, long current, long previous) {
    Cell former = new CounterCell(1_000_000, 10_000_000, 3, 4);

    Cell started =
        Cell.unused(SlidingWindowCounter.of(10, TWO_SECONDS)).startedFrom(former, now, newest);

    assertThat(started).isEqualTo(new CounterCell(2_000_000, begin, current, previous));
  }

  @Test
  void nothingWasUsedAfterTheLastWrite() {
    Cell former = new CounterCell(60_000_000, 0, 3, 4);
    Cell unused = Cell.unused(SlidingWindowCounter.of(10, SECOND));

    assertThat(unused.startedFrom(former, 30_500_000, 30_100_000))
        .isEqualTo(new CounterCell(1_000_000, 30_000_000, 3, 0));
    assertThat(unused.startedFrom(former, 30_500_000, 29_999_999))
        .isEqualTo(new CounterCell(1_000_000, 30_000_000, 0, 3));
    assertThat(unused.startedFrom(former, 30_500_000, 28_999_999)).isSameAs(unused);
  }

  @Test
  void aCounterWithAsManyUnitsInBothWindowsKeepsThem() {
    Cell former = new CounterCell(1_000_000, 10_000_000, 3, 3);

    assertThat(
            Cell.unused(SlidingWindowCounter.of(10, TWO_SECONDS))
                .startedFrom(former, 10_500_000, 10_200_000))
        .isEqualTo(new CounterCell(2_000_000, 10_000_000, 3, 3));
  }

  @Test
  void aCounterIsUnusedWithoutATimeAndUnits() {
    assertThat(new CounterCell(1_000_000, 0, 0, 0).timeMicros()).isEqualTo(-1);
    assertThat(new CounterCell(1_000_000, 0, 0, 2).timeMicros()).isZero();
    assertThat(new CounterCell(1_000_000, 0, 2, 2).timeMicros()).isZero();
    assertThat(new CounterCell(1_000_000, 5, 0, 0).timeMicros()).isEqualTo(5);
    assertThat(new CounterCell(1_000_000, 0, 2, 2).scale()).isEqualTo(1_000_000);
  }

  @Test
  void aQueueIsUnusedWithoutATimeAndUnits() {
    LeakyCell unused = (LeakyCell) Cell.unused(LEAKY);
    assertThat(new LeakyCell(LEAKY, 1, 1, 0, 3, LeakyCell.Gap.NONE).timeMicros()).isZero();
    assertThat(new LeakyCell(LEAKY, 1, 1, 5, 0, LeakyCell.Gap.NONE).timeMicros()).isEqualTo(5);
    assertThat(unused.timeMicros()).isEqualTo(-1);
  }

  @Test
  void aWindowContinuesUntilItsNewEnd() {
    FixedWindowRule rule = FixedWindowRule.of(10, TWO_SECONDS);
    Cell unused = Cell.unused(rule);
    Cell former = new WindowCell(FixedWindowRule.of(10, SECOND), 5_000_000, 6_000_000, 4);

    assertThat(unused.startedFrom(former, 6_999_999, 5_500_000))
        .isEqualTo(new WindowCell(rule, 5_000_000, 7_000_000, 4));
    assertThat(unused.startedFrom(former, 7_000_000, 5_500_000)).isSameAs(unused);
  }

  @Test
  void aWindowWithoutUnitsDoesNotContinue() {
    Cell unused = Cell.unused(FixedWindowRule.of(10, TWO_SECONDS));
    Cell former = new WindowCell(FixedWindowRule.of(10, SECOND), 5_000_000, 6_000_000, 0);

    assertThat(unused.startedFrom(former, 5_500_000, 5_500_000)).isSameAs(unused);
  }

  @Test
  void anAlignedWindowStartsWithUnitsUsedSinceItBegan() {
    FixedWindowRule rule = FixedWindowRule.aligned(10, SECOND, ZoneOffset.UTC);
    Cell unused = Cell.unused(rule);
    FixedWindowRule free = FixedWindowRule.of(10, TWO_SECONDS);

    assertThat(
            unused.startedFrom(new WindowCell(free, 5_000_000, 7_000_000, 4), 5_500_000, 5_400_000))
        .isEqualTo(new WindowCell(rule, 5_000_000, 6_000_000, 4));
    assertThat(
            unused.startedFrom(new WindowCell(free, 4_999_999, 6_999_999, 4), 5_500_000, 5_400_000))
        .isSameAs(unused);
  }

  @Test
  void theFallbackStartsAWindowThatEndsAsTheStoresDoes() {
    FixedWindowRule rule = FixedWindowRule.of(10, TWO_SECONDS);

    assertThat(Cell.unused(rule).used(rule, 4, SOME_TIME, 300_000, 500_000))
        .isEqualTo(new WindowCell(rule, SOME_TIME - 1_500_000, SOME_TIME + 500_000, 4));
  }

  @Test
  void theFallbackStartsAnAlignedWindowWhereItBegan() {
    FixedWindowRule rule = FixedWindowRule.aligned(10, TWO_SECONDS, ZoneOffset.UTC);

    assertThat(Cell.unused(rule).used(rule, 4, 77_500_000, 300_000, 500_000))
        .isEqualTo(new WindowCell(rule, 76_000_000, 78_000_000, 4));
  }

  @Test
  void theFallbackStartsABucketThatIsFullWhenTheStoresIs() {
    assertThat(Cell.unused(BUCKET).used(BUCKET, 4, SOME_TIME, 300_000, 1_900_000))
        .isEqualTo(bucket(BUCKET, 1_900_000));
    assertThat(Cell.unused(BUCKET).used(BUCKET, 4, SOME_TIME, 300_000, 2_100_000))
        .as("no more than the used tokens")
        .isEqualTo(bucket(BUCKET, 2_000_000));
  }

  @Test
  void theFallbackStartsABucketByIntervalThatIsRefilledWhenTheStoresIs() {
    assertThat(Cell.unused(BY_INTERVAL).used(BY_INTERVAL, 4, SOME_TIME, 300_000, 1_900_000))
        .isEqualTo(
            Cell.unused(BY_INTERVAL).stored(SOME_TIME, new double[] {SOME_TIME - 700_000, 4}));
    assertThat(Cell.unused(BY_INTERVAL).used(BY_INTERVAL, 4, SOME_TIME, 3_000_000, 3_900_000))
        .isEqualTo(bucket(BY_INTERVAL, 4));
  }

  @Test
  void theFallbackStartsACounterInTheCurrentWindow() {
    SlidingWindowCounter rule = SlidingWindowCounter.of(10, TWO_SECONDS);

    assertThat(Cell.unused(rule).used(rule, 4, 77_500_000, 300_000, 500_000))
        .isEqualTo(new CounterCell(2_000_000, 76_000_000, 4, 0));
  }

  /** The verdict may be of a window that has ended, and they of the next one. */
  @Test
  void unitsTakenBeforeAVerdictArrivedCountForAWholeWindow() {
    FixedWindowRule rule = FixedWindowRule.of(10, TWO_SECONDS);
    Cell known = Cell.unused(rule).used(rule, 4, SOME_TIME, 500_000, 500_000);

    assertThat(known.withEarlier(rule, SOME_TIME, 3))
        .isEqualTo(new WindowCell(rule, SOME_TIME, SOME_TIME + 2_000_000, 7));
    assertThat(known.withEarlier(rule, SOME_TIME, 8))
        .isEqualTo(new WindowCell(rule, SOME_TIME, SOME_TIME + 2_000_000, 10));
    FixedWindowRule aligned = FixedWindowRule.aligned(10, TWO_SECONDS, ZoneOffset.UTC);
    assertThat(
            Cell.unused(aligned)
                .used(aligned, 4, SOME_TIME, 500_000, 500_000)
                .withEarlier(aligned, SOME_TIME, 3))
        .isEqualTo(new WindowCell(aligned, 76_000_000, 78_000_000, 7));
  }

  @Test
  void unitsForWhichABucketByIntervalHasNoTokensWereTakenAfterItsNextRefill() {
    Cell known = Cell.unused(BY_INTERVAL).used(BY_INTERVAL, 4, SOME_TIME, 300_000, 1_900_000);

    assertThat(known.withEarlier(BY_INTERVAL, SOME_TIME, 6))
        .isEqualTo(new IntervalCell(BY_INTERVAL, true, SOME_TIME - 700_000, 10));
    assertThat(known.withEarlier(BY_INTERVAL, SOME_TIME, 7))
        .isEqualTo(new IntervalCell(BY_INTERVAL, true, SOME_TIME, 10));
  }

  @Test
  void unitsTakenBeforeAVerdictArrivedAreMissingFromABucket() {
    assertThat(bucket(BUCKET, 1_000_000).withEarlier(BUCKET, SOME_TIME, 3))
        .isEqualTo(bucket(BUCKET, 2_500_000));
  }

  /** The larger count took them, and they come back with time. */
  @Test
  void whatASmallerBucketIsInDebtStaysMissing() {
    Cell cell = bucket(BUCKET.withCount(20), 7_500_000).under(BUCKET);
    long later = SOME_TIME + 1_000_000;

    CellReadout readout = cell.read(BUCKET, later, 1, Mode.ACQUIRE);

    assertThat(readout.remainingBefore()).as("8 of 10 are missing").isEqualTo(2);
    assertThat(readout.taken()).isEqualTo(at(later, 7_000_000));
    assertThat(cell.recorded(BUCKET, later, 1)).isEqualTo(at(later, 7_000_000));
    assertThat(cell.recorded(BUCKET, later, 9))
        .as("at most all of this bucket")
        .isEqualTo(at(later, 7_500_000));
    assertThat(cell.read(BUCKET, SOME_TIME + 8_000_000, 1, Mode.ACQUIRE).taken())
        .isEqualTo(at(SOME_TIME + 8_000_000, 500_000));
  }

  @Test
  void whatASmallerBucketByIntervalIsInDebtStaysMissing() {
    Cell cell = bucket(BY_INTERVAL.withCount(20), 15).under(BY_INTERVAL);

    CellReadout readout = cell.read(BY_INTERVAL, SOME_TIME + 1_500_000, 1, Mode.ACQUIRE);

    assertThat(readout.remainingBefore()).as("8 of 10 are missing").isEqualTo(2);
    assertThat(readout.taken())
        .isEqualTo(new IntervalCell(BY_INTERVAL, true, SOME_TIME + 1_000_000, 14));
  }

  private static Cell at(long micros, long missing) {
    return Cell.unused(BUCKET).stored(micros, new double[] {micros, missing});
  }

  @Test
  void pastUnitsAreRecordedInACounterUpToItsCount() {
    SlidingWindowCounter rule = SlidingWindowCounter.of(10, SECOND);
    Cell cell = new CounterCell(1_000_000, 5_000_000, 8, 9);

    assertThat(cell.recorded(rule, 5_500_000, 1))
        .isEqualTo(new CounterCell(1_000_000, 5_000_000, 9, 9));
    assertThat(cell.recorded(rule, 5_500_000, 5))
        .isEqualTo(new CounterCell(1_000_000, 5_000_000, 10, 9));
    assertThat(new CounterCell(1_000_000, 5_000_000, 12, 9).recorded(rule, 5_500_000, 5))
        .as("of a larger count")
        .isEqualTo(new CounterCell(1_000_000, 5_000_000, 12, 9));
  }

  /** The longest wait of any rule with these departures, and the longest queue. */
  @Test
  void aQueueThatNoRuleAllowsIsCut() {
    LeakyBucketRule three = LeakyBucketRule.of(3, SECOND, 10, SECOND);
    long longestWait = 3 * 300_000_000L;
    long longestQueue = 10_001 * 1_000_000L;
    assertThat(resets(three, 1L << 52)).isEqualTo((longestWait + longestQueue + 2) / 3);
    assertThat(resets(three, longestWait + longestQueue - 3))
        .isEqualTo((longestWait + longestQueue - 1) / 3);

    LeakyBucketRule quick = LeakyBucketRule.of(700, SECOND, 10, SECOND);
    long mostDepartures = 120_000 * 10_000L;
    assertThat(resets(quick, 1L << 52)).isEqualTo((mostDepartures + 10_001 * 10_000L + 6) / 7);
  }

  private static long resets(LeakyBucketRule rule, long ahead) {
    return stored(rule, ahead).read(rule, SOME_TIME, 1, Mode.PEEK).resetAfterMicros(false);
  }

  /** The first departure that was given up has passed when the second is. */
  @Test
  void aDepartureThatHasPassedIsNoGap() {
    LeakyBucketRule three = LeakyBucketRule.of(3, SECOND, 10, SECOND.multipliedBy(9));
    Cell queue = stored(three, 6_000_000);
    Cell oneLeft = queue.giveBack(three, SOME_TIME, 1, 1, 1_000_000, SOME_TIME);
    assertThat(oneLeft)
        .isEqualTo(
            new LeakyCell(three, 1_000_000, 3, SOME_TIME, 6_000_000, new LeakyCell.Gap(5, 1, 1)));

    assertThat(oneLeft.giveBack(three, SOME_TIME, 1, 1, 5_000_000, SOME_TIME + 400_000))
        .isEqualTo(
            new LeakyCell(three, 1_000_000, 3, SOME_TIME, 6_000_000, new LeakyCell.Gap(1, 1, 1)));
  }
}
