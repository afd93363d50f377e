// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static io.limiter.core.StoreHarness.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.LeakyBucketRule;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls that are abandoned while they wait: whether they give up a place, and which. */
class LeakyLeaversTest {

  private static final LeakyBucketRule TWO =
      LeakyBucketRule.of(2, SECOND, 10, SECOND.multipliedBy(10));

  @Test
  void anAbandonedCallGivesItsPlaceBackOnce() {
    LeakyQueue queue = new LeakyQueue(TWO);
    queue.takeEach(4);
    assertThat(queue.leave(2)).isTrue();
    assertThat(queue.left()).isEqualTo(8);
    assertThat(queue.leave(2)).isFalse();
    assertThat(queue.left()).isEqualTo(8);
  }

  @Test
  void aCallThatDepartsAtOnceHasNoPlaceToGiveBack() {
    LeakyQueue queue = new LeakyQueue(TWO);
    queue.takeEach(3);
    assertThat(queue.leave(0)).isFalse();
    assertThat(queue.cell.giveBack(TWO, 0, 1, 1, 0, 0)).isSameAs(queue.cell);
  }

  @Test
  void aPlaceIsGivenBackWholeOrNotAtAll() {
    LeakyQueue queue = new LeakyQueue(TWO);
    queue.take(1);
    queue.take(3);
    queue.take(1);
    assertThat(queue.leave(1, 2)).isFalse();
    assertThat(queue.leave(1, 3)).isTrue();
    assertThat(queue.left()).isEqualTo(9);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aPlaceIsGivenBackUntilTheVeryMicrosecondOfItsDeparture(boolean fair) {
    for (int third = 1; third <= 4; third++) {
      long departs = (third * 1_000_000L + 2) / 3;
      for (long early = 0; early <= 1; early++) {
        LeakyQueue queue =
            new LeakyQueue(LeakyBucketRule.of(3, SECOND, 10, SECOND.multipliedBy(5)));
        queue.rule = queue.rule.withFair(fair);
        queue.takeEach(5);
        queue.now = 200_000;
        queue.take(2);
        queue.now = departs - early;
        assertThat(queue.leave(third)).isEqualTo(early == 1);
      }
    }
  }

  @Test
  void aCallThatDepartedLongAgoGivesNothingBackThoughOthersWait() {
    LeakyQueue queue = new LeakyQueue(TWO);
    queue.takeEach(3);
    queue.now = 1_200_000;
    queue.takeEach(5);
    for (int call = 0; call < 3; call++) {
      assertThat(queue.leave(call)).isFalse();
    }
    assertThat(queue.leave(3)).isTrue();
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 100_000})
  void departuresOfALostQueueAreNotGivenBackToAnother(long later) {
    LeakyQueue queue = new LeakyQueue(TWO);
    queue.take(1);
    queue.take(3);
    queue.take(1);
    queue.cell = CellState.unused(TWO);
    assertThat(queue.leave(1)).as("no call has come since").isFalse();
    queue.now = later;
    queue.take(2);
    assertThat(queue.leave(1)).isFalse();
    assertThat(queue.leave(2)).isFalse();
    queue.take(9);
    assertThat(queue.leave(1)).isEqualTo(later == 0); // the call has the same place as before
  }

  @Test
  void aCallLaterThanTheLastDepartureGivesNothingBack() {
    LeakyQueue queue = new LeakyQueue(TWO);
    queue.takeEach(2);
    CellState early = queue.cell;
    queue.now = 100_000;
    queue.take(1);
    queue.cell = early;
    assertThat(queue.leave(2)).isFalse();
  }

  /** Departures so close, in parts of a microsecond, that those of an hour are not counted. */
  @Test
  void aCallThatHasDepartedGivesNothingBackHoweverLate() {
    Duration year = Duration.ofDays(366);
    LeakyQueue queue =
        new LeakyQueue(LeakyBucketRule.of(999_999_937, year, 10, Duration.ofMillis(100)));
    queue.takeEach(3);
    for (int hours = 1; hours < 5_000; hours++) {
      queue.now = hours * 3_600_000_000L;
      assertThat(queue.leave(1)).as("after %d hours", hours).isFalse();
    }
  }

  /**
   * Of a gap with waiting calls in it no departure is handed out again; once it has passed, all.
   */
  @Test
  void departuresThatHaveComeMakeTheOthersKnown() {
    LeakyQueue queue =
        new LeakyQueue(LeakyBucketRule.of(2, SECOND, 40, SECOND.multipliedBy(20)).withFair(false));
    queue.takeEach(30);
    assertThat(queue.leave(2)).isTrue();
    assertThat(queue.leave(4)).isTrue();
    assertThat(queue.take(1)).isEqualTo(15_000_000);
    queue.now = 2_100_000; // both have passed
    assertThat(queue.leave(20)).isTrue();
    assertThat(queue.leave(21)).isTrue();
    assertThat(queue.take(1)).isEqualTo(10_000_000 - 2_100_000);
    assertThat(queue.take(1)).isEqualTo(10_500_000 - 2_100_000);
  }
}
