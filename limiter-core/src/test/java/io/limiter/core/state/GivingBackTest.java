// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static io.limiter.core.StoreHarness.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.FadingCounter;
import io.limiter.core.Mode;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How many of a call's units count when they are given back, at once or later. */
class GivingBackTest {

  private static final long START = 1_000_000;

  private static CellState take(Rule rule, CellState cell, long now, int units) {
    return cell.after(cell.read(rule, now, units, Mode.ACQUIRE));
  }

  private static CellState take(Rule rule, long now, int units) {
    return take(rule, CellState.unused(rule), now, units);
  }

  private static CellState back(Rule rule, CellState cell, long stamp, int units, int taken) {
    return cell.giveBack(rule, stamp, units, taken, 0, stamp);
  }

  private static long left(Rule rule, CellState cell, long now) {
    return cell.read(rule, now, 1, Mode.PEEK).remainingBefore();
  }

  private static TokenBucketRule bucket(boolean greedy) {
    TokenBucketRule bucket = TokenBucketRule.of(10, 3, SECOND);
    return greedy ? bucket : bucket.byInterval();
  }

  @Test
  void unitsOfAWindowComeBackWhileItLasts() {
    FixedWindowRule rule = FixedWindowRule.of(10, SECOND);
    CellState cell = take(rule, START, 6);
    assertThat(left(rule, back(rule, cell, START, 6, 6), START)).isEqualTo(10);
    assertThat(left(rule, back(rule, cell, START, 2, 6), START + 999_999)).isEqualTo(6);
    assertThat(left(rule, back(rule, cell, START, 9, 9), START)).isEqualTo(10);
    assertThat(back(rule, cell, START - 1, 6, 6)).isSameAs(cell);
    CellState empty = back(rule, cell, START, 6, 6);
    assertThat(back(rule, empty, START, 6, 6)).isSameAs(empty);
  }

  @Test
  void unitsOfACounterComeBackFromTheWindowInWhichTheyWereTaken() {
    SlidingWindowCounterRule rule = SlidingWindowCounterRule.of(10, SECOND);
    CellState cell = take(rule, take(rule, START, 4), START + 1_000_000, 3);
    long now = START + 1_500_000; // half of the first four weigh
    assertThat(left(rule, cell, now)).isEqualTo(5);
    assertThat(left(rule, back(rule, cell, START + 1_000_000, 2, 3), now)).isEqualTo(7);
    assertThat(left(rule, back(rule, cell, START + 1_000_000, 9, 9), now)).isEqualTo(8);
    assertThat(left(rule, back(rule, cell, START + 999_999, 2, 4), now)).isEqualTo(6);
    assertThat(left(rule, back(rule, cell, START, 9, 9), now)).isEqualTo(7);
    assertThat(back(rule, cell, START - 1, 4, 4)).isSameAs(cell);
    CellState none = back(rule, back(rule, cell, START, 4, 4), START + 1_000_000, 3, 3);
    assertThat(back(rule, none, START, 4, 4)).isSameAs(none);
    assertThat(back(rule, none, START + 1_000_000, 3, 3)).isSameAs(none);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void tokensComeBackAtOnce(boolean greedy) {
    TokenBucketRule rule = bucket(greedy);
    CellState cell = take(rule, START, 7);
    assertThat(left(rule, back(rule, cell, START, 7, 7), START)).isEqualTo(10);
    assertThat(left(rule, back(rule, cell, START, 2, 7), START)).isEqualTo(5);
    assertThat(left(rule, back(rule, cell, START, 9, 9), START)).isEqualTo(10);
  }

  /** After two seconds six of the seven are back. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void tokensThatHaveComeBackWithTimeDoNotComeBackTwice(boolean greedy) {
    TokenBucketRule rule = bucket(greedy);
    long now = START + 2_000_000;
    CellState cell = take(rule, take(rule, START, 7), now, 4);
    assertThat(left(rule, cell, now)).isEqualTo(5);
    assertThat(left(rule, back(rule, cell, START, 7, 7), now)).isEqualTo(6);
    assertThat(left(rule, back(rule, cell, START, 1, 7), now)).isEqualTo(6);
    assertThat(left(rule, back(rule, cell, START, 8, 8), now)).isEqualTo(7);
    assertThat(left(rule, back(rule, cell, START, 1, 8), now)).isEqualTo(6);
    assertThat(left(rule, back(rule, cell, START + 1_000_000, 4, 4), now)).isEqualTo(6);
    assertThat(back(rule, cell, START, 6, 6)).isSameAs(cell);
    assertThat(back(rule, cell, START, 2, 2)).isSameAs(cell);
  }

  /** Time that has passed since something was last taken counts when the bucket is read. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void tokensGivenBackLateAreNotCountedEarly(boolean greedy) {
    TokenBucketRule rule = bucket(greedy);
    CellState cell = back(rule, take(rule, START, 7), START, 3, 7);
    assertThat(left(rule, cell, START + 999_999)).isEqualTo(greedy ? 8 : 6);
    assertThat(left(rule, cell, START + 1_000_000)).isEqualTo(9);
    assertThat(left(rule, cell, START + 2_000_000)).isEqualTo(10);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aCallOfALostStateGivesBackAtMostTheMissingTokens(boolean greedy) {
    TokenBucketRule rule = bucket(greedy);
    CellState cell = take(rule, START, 2);
    assertThat(left(rule, back(rule, cell, START + 500_000, 5, 5), START)).isEqualTo(10);
    CellState full = back(rule, cell, START, 2, 2);
    assertThat(back(rule, full, START, 2, 2)).isSameAs(full);
  }

  @Test
  void aTokenThatIsHalfBackIsGivenBackByHalf() {
    TokenBucketRule rule = TokenBucketRule.of(10, 2, SECOND);
    long now = START + 750_000; // of four tokens one and a half are back
    CellState cell = take(rule, take(rule, START, 4), now, 5);
    CellState back = back(rule, cell, START, 4, 4);
    assertThat(left(rule, back, now)).isEqualTo(5);
    assertThat(back.read(rule, now, 1, Mode.PEEK).resetAfterMicros(false)).isEqualTo(2_500_000);
    CellState one = back(rule, cell, START, 1, 4);
    assertThat(one.read(rule, now, 1, Mode.PEEK).resetAfterMicros(false)).isEqualTo(3_250_000);
  }

  /** An interval that has begun when a call comes ends before a whole one has passed. */
  @Test
  void tokensOfAnIntervalComeBackAtItsEnd() {
    TokenBucketRule rule = bucket(false);
    CellState begun = take(rule, START, 1);
    CellState cell = take(rule, take(rule, begun, START + 600_000, 7), START + 1_200_000, 1);
    assertThat(left(rule, cell, START + 1_200_000)).isEqualTo(4);
    assertThat(left(rule, back(rule, cell, START + 600_000, 7, 7), START + 1_200_000)).isEqualTo(8);
    assertThat(left(rule, back(rule, cell, START + 1_200_000, 1, 1), START + 1_200_000))
        .isEqualTo(5);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void tokensThatCameBackMonthsAgoAreNotGivenBackHoweverMany(boolean greedy) {
    TokenBucketRule tokens = TokenBucketRule.of(1_000_000_000, 1_000_000_000, Duration.ofMillis(1));
    TokenBucketRule rule = greedy ? tokens : tokens.byInterval();
    long now = START + Duration.ofDays(150).toMillis() * 1_000;
    CellState cell = take(rule, take(rule, START, 1_000_000), now, 5);
    assertThat(back(rule, cell, START, 1_000_000, 1_000_000)).isSameAs(cell);
    assertThat(left(rule, cell, now)).isEqualTo(999_999_995);
  }

  @Test
  void anAlgorithmOfTheUsersOwnGivesNothingBack() {
    Rule rule = CustomRule.of(new FadingCounter(), 10, SECOND, 2.0);
    CellState cell = take(rule, START, 4);
    assertThat(back(rule, cell, START, 4, 4)).isSameAs(cell);
  }
}
