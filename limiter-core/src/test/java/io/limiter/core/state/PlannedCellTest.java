// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.SECOND;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.limiter.core.FadingCounter;
import io.limiter.core.rule.CalendarPeriod;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.FixedWindowRule.Alignment;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** What scripts receive about a rule, and how long they keep its numbers. */
class PlannedCellTest {

  private static final long HOUR = 3_600_000_000L;

  private static final Rule COUNTER = SlidingWindowCounterRule.of(10, SECOND);
  private static final Rule WINDOW = FixedWindowRule.of(10, SECOND);
  private static final Rule ALIGNED = FixedWindowRule.aligned(10, SECOND, ZoneOffset.UTC);
  private static final Rule BUCKET = TokenBucketRule.of(10, 2, SECOND).startingWith(4);
  private static final Rule BY_INTERVAL =
      TokenBucketRule.of(10, 2, SECOND).startingWith(4).byInterval();
  private static final LeakyBucketRule LEAKY =
      LeakyBucketRule.of(3, SECOND, 10, SECOND.multipliedBy(10));
  private static final Rule CUSTOM =
      new CustomRule("custom", 10, SECOND, new FadingCounter(), List.of(2.5), MINUTE);

  private static Arguments planned(Rule rule, CellAlgorithm algorithm, int size, double... plan) {
    return Arguments.of(rule, algorithm, size, plan);
  }

  static Stream<Arguments> rules() {
    return Stream.of(
        planned(COUNTER, CellAlgorithm.SLIDING_COUNTER, 3, 10, 1e6),
        planned(WINDOW, CellAlgorithm.FIXED_WINDOW, 2, 10, 1e6),
        planned(BUCKET, CellAlgorithm.TOKEN_BUCKET, 3, 10, 500_000, 1, 3e6),
        planned(BY_INTERVAL, CellAlgorithm.INTERVAL_BUCKET, 2, 10, 1e6, 2, 6),
        planned(LEAKY, CellAlgorithm.LEAKY_BUCKET, 4, 1e6, 3, 10, 30e6, 1),
        planned(LEAKY.withFair(false), CellAlgorithm.LEAKY_BUCKET, 4, 1e6, 3, 10, 30e6, 0),
        planned(CUSTOM, CellAlgorithm.CUSTOM, 3, 10, 1e6, 60e6, 2.5));
  }

  @ParameterizedTest
  @MethodSource("rules")
  void aScriptGetsTheseNumbers(Rule rule, CellAlgorithm algorithm, int size, double[] plan) {
    Cell cell = CellState.cell(rule);

    assertThat(cell.algorithm()).isEqualTo(algorithm);
    assertThat(cell.plan(0)).containsExactly(plan);
    assertThat(cell.size()).as("stored values").isEqualTo(size);
    assertThat(cell.isZoned()).isFalse();
  }

  @Test
  void aWindowWithoutDaylightSavingGetsOneOffset() {
    Cell cell =
        CellState.cell(
            FixedWindowRule.of(10, Duration.ofHours(24))
                .alignedTo(
                    Alignment.to(ZoneOffset.ofHours(2)).from(LocalDateTime.of(2024, 1, 1, 6, 30))));

    assertThat(cell.algorithm()).isEqualTo(CellAlgorithm.ALIGNED_WINDOW);
    assertThat(cell.plan(5))
        .containsExactly(10, 24 * HOUR, 6.5 * HOUR, 2 * HOUR, 0, 2 * HOUR, 0, 0x1p53);
    assertThat(cell.isZoned()).isFalse();
  }

  /** Clocks change there on 2024-03-31 and 2024-10-27, each at 01:00 UTC. */
  @Test
  void aWindowInAZoneGetsTheNearestChangeOfItsClocks() {
    Rule daily = FixedWindowRule.aligned(10, Duration.ofHours(24), ZoneId.of("Europe/Berlin"));
    Cell cell = CellState.cell(daily);
    long spring = micros("2024-03-31T01:00:00Z");
    long autumn = micros("2024-10-27T01:00:00Z");
    long before = micros("2023-10-29T01:00:00Z") + 26 * HOUR; // no day after it contains the change

    assertThat(cell.isZoned()).isTrue();
    for (String near : new String[] {"2024-02-01T00:00:00Z", "2024-07-13T00:00:00Z"}) {
      assertThat(cell.plan(micros(near)))
          .as(near)
          .containsExactly(10, 24 * HOUR, 0, HOUR, spring, 2 * HOUR, before, autumn);
    }
    assertThat(cell.plan(micros("2024-07-15T00:00:00Z")))
        .containsExactly(
            10,
            24 * HOUR,
            0,
            2 * HOUR,
            autumn,
            HOUR,
            spring + 26 * HOUR,
            micros("2025-03-30T01:00:00Z"));
  }

  /** The month before, that of the clock, and the two after. */
  @Test
  void aPeriodOfTheCalendarGetsFourBeginnings() {
    Rule monthly = FixedWindowRule.aligned(10, CalendarPeriod.MONTH, ZoneId.of("Europe/Berlin"));
    Cell cell = CellState.cell(monthly);

    assertThat(cell.algorithm()).isEqualTo(CellAlgorithm.CALENDAR_WINDOW);
    assertThat(cell.isZoned()).isTrue();
    assertThat(cell.plan(micros("2024-03-31T22:00:00Z")))
        .containsExactly(
            10,
            micros("2024-02-29T23:00:00Z"),
            micros("2024-03-31T22:00:00Z"),
            micros("2024-04-30T22:00:00Z"),
            micros("2024-05-31T22:00:00Z"));
    assertThat(cell.memoryMicros()).isEqualTo(32 * 24 * HOUR);
  }

  /**
   * Also when a window began that ends with the first three; tables of zones may differ by hours.
   */
  @Test
  void aPeriodOfASubjectGetsTheWholePeriodsBefore() {
    Rule monthly =
        FixedWindowRule.of(10, SECOND)
            .alignedTo(
                FixedWindowRule.Alignment.to(ZoneId.of("Europe/Berlin"))
                    .each(CalendarPeriod.MONTH)
                    .forSubject(LocalDate.of(2020, 10, 31)));
    Cell cell = CellState.cell(monthly);

    assertThat(cell.algorithm()).isEqualTo(CellAlgorithm.ANCHORED_WINDOW);
    assertThat(cell.isZoned()).isTrue();
    assertThat(cell.plan(micros("2024-03-31T22:00:00Z")))
        .containsExactly(
            10,
            micros("2024-02-28T23:00:00Z"),
            micros("2024-03-30T23:00:00Z"),
            micros("2024-04-29T22:00:00Z"),
            micros("2024-05-30T22:00:00Z"),
            micros("2024-01-31T01:00:00Z"),
            micros("2024-02-29T01:00:00Z"),
            micros("2024-03-31T01:00:00Z"));
    assertThat(cell.memoryMicros()).isEqualTo(63 * 24 * HOUR);
  }

  private static long micros(String time) {
    return Instant.parse(time).getEpochSecond() * 1_000_000;
  }

  /** Its clocks may be set back by two hours while a window lasts. */
  @Test
  void theStateIsKeptAsLongAsItMayBeNeeded() {
    assertThat(CellState.cell(COUNTER).memoryMicros()).isEqualTo(2_000_000);
    assertThat(CellState.cell(WINDOW).memoryMicros()).isEqualTo(1_000_000);
    assertThat(CellState.cell(ALIGNED).memoryMicros()).isEqualTo(1_000_000 + 2 * HOUR);
    assertThat(CellState.cell(BUCKET).memoryMicros()).isEqualTo(HOUR);
    assertThat(CellState.cell(BY_INTERVAL).memoryMicros()).isEqualTo(HOUR);
    assertThat(CellState.cell(TokenBucketRule.of(10, 2, SECOND)).memoryMicros())
        .isEqualTo(5_000_000);
    assertThat(CellState.cell(TokenBucketRule.of(10, 3, SECOND).byInterval()).memoryMicros())
        .isEqualTo(4_000_000);
    assertThat(CellState.cell(CUSTOM).memoryMicros()).isEqualTo(60_000_000);
    assertThat(CellState.cell(LEAKY).memoryMicros()).isEqualTo(10_333_334);
  }

  /** Plans hold them. */
  @Test
  void algorithmsHaveNumbersOfTheirOwn() {
    assertThat(CellAlgorithm.values())
        .extracting(CellAlgorithm::number)
        .containsExactly(4, 2, 3, 7, 8, 1, 5, 6, 64);
  }

  @Test
  void aLogHasNoCell() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> CellState.cell(SlidingWindowLogRule.of(1, SECOND)))
        .withMessageStartingWith("A log has no cell: ");
  }

  /** So units that the store misses are reported for longer than their window. */
  @Test
  void onlyBucketsQueuesAndCustomAlgorithmsCarryUseIntoTheNextWindow() {
    assertThat(Stream.of(COUNTER, WINDOW, ALIGNED, SlidingWindowLogRule.of(1, SECOND)))
        .noneMatch(Rule::carriesOver);
    assertThat(Stream.of(BUCKET, BY_INTERVAL, LEAKY, CUSTOM)).allMatch(Rule::carriesOver);
  }
}
