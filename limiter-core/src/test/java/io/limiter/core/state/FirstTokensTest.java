// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static io.limiter.core.StoreHarness.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Mode;
import io.limiter.core.rule.TokenBucketRule;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Time starts for a subject with fewer tokens than it needs, though its call is denied. */
class FirstTokensTest {

  private static final long NOW = 5_000_000;

  /** Two of ten tokens to begin with, and one more each second. */
  private static TokenBucketRule two(boolean greedy) {
    return full(greedy).startingWith(2);
  }

  private static TokenBucketRule full(boolean greedy) {
    TokenBucketRule bucket = TokenBucketRule.of(10, 1, SECOND);
    return greedy ? bucket : bucket.byInterval();
  }

  private static CellState denied(TokenBucketRule rule, CellState cell, int cost) {
    return cell.denied(cell.read(rule, NOW, cost, Mode.ACQUIRE));
  }

  private static long left(TokenBucketRule rule, CellState cell, long now) {
    return cell.read(rule, now, 1, Mode.PEEK).remainingBefore();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aSubjectDeniedAtFirstHasMoreTokensLater(boolean greedy) {
    TokenBucketRule rule = two(greedy);
    for (int cost : new int[] {3, 10}) {
      CellState cell = denied(rule, CellState.unused(rule), cost);
      assertThat(left(rule, cell, NOW)).isEqualTo(2);
      assertThat(left(rule, cell, NOW + 999_999)).isEqualTo(2);
      assertThat(left(rule, cell, NOW + 1_000_000)).isEqualTo(3);
      assertThat(left(rule, cell, NOW + 8_000_000)).isEqualTo(10);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aPeekLeavesTheTokensUnchanged(boolean greedy) {
    TokenBucketRule rule = two(greedy);
    assertThat(left(rule, CellState.unused(rule), NOW)).isEqualTo(2);
    assertThat(left(rule, CellState.unused(rule), NOW + 8_000_000)).isEqualTo(2);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void timeDoesNotStartWithACallThatAnotherRuleDenies(boolean greedy) {
    CellState unused = CellState.unused(two(greedy));
    assertThat(denied(two(greedy), unused, 1)).isSameAs(unused);
    assertThat(denied(two(greedy), unused, 2)).isSameAs(unused);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void timeDoesNotBeginWithACallThatWouldNeverPass(boolean greedy) {
    CellState unused = CellState.unused(two(greedy));
    assertThat(denied(two(greedy), unused, 11)).isSameAs(unused);
    CellState full = CellState.unused(full(greedy));
    assertThat(denied(full(greedy), full, 11)).isSameAs(full);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void timeThatHasStartedContinues(boolean greedy) {
    TokenBucketRule rule = two(greedy);
    CellState cell = denied(rule, CellState.unused(rule), 3);
    CellState again = cell.denied(cell.read(rule, NOW + 900_000, 3, Mode.ACQUIRE));
    assertThat(again).isSameAs(cell);
  }

  /**
   * The ten seconds in which a bucket fills, or an hour, twice: the cell itself discards nothing.
   */
  @ParameterizedTest
  @CsvSource({"true, 1, 3600", "false, 1, 3600", "true, 400, 8000", "false, 400, 8000"})
  void aBucketIsNeededForAnHourOrForTwiceTheTimeInWhichItFills(
      boolean greedy, int seconds, long needed) {
    TokenBucketRule rule = TokenBucketRule.of(10, 1, SECOND.multipliedBy(seconds)).startingWith(2);
    TokenBucketRule bucket = greedy ? rule : rule.byInterval();
    CellState cell = denied(bucket, CellState.unused(bucket), 3);
    assertThat(cell.neededUntilMicros(bucket)).isEqualTo(NOW + 1_000_000 * needed);
    assertThat(left(bucket, cell, NOW + 1_000_000 * needed)).isEqualTo(10);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aBucketThatStartsFullIsNeededUntilItIsFullAgain(boolean greedy) {
    TokenBucketRule rule = full(greedy);
    CellState unused = CellState.unused(rule);
    CellState cell = unused.after(unused.read(rule, NOW, 3, Mode.ACQUIRE));
    assertThat(cell.neededUntilMicros(rule)).isEqualTo(NOW + 3_000_000);
    assertThat(left(rule, cell, NOW + 60_000_000)).isEqualTo(10);
  }
}
