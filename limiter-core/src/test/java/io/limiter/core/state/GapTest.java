// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.state.LeakyCell.Gap;
import org.junit.jupiter.api.Test;

/** Departures that were given up: whether they are known, how many are free. */
class GapTest {

  /** Of 40 to 36 two were given up; which ones is unknown. */
  private static final Gap TWO_OF_FIVE = new Gap(40, 5, 2);

  /** One departure is given up at each of these numbers. */
  private static Gap at(long... numbers) {
    Gap gap = Gap.NONE;
    for (long number : numbers) {
      gap = gap.with(number, 1);
    }
    return gap;
  }

  @Test
  void departuresInARowAreKnown() {
    for (Gap gap : new Gap[] {at(5, 4), at(4, 5), Gap.NONE.with(5, 2)}) {
      assertThat(gap).isEqualTo(new Gap(5, 2, 2));
      assertThat(gap.isKnown()).isTrue();
    }
    assertThat(at(9).with(6, 3).with(8, 2)).isEqualTo(new Gap(9, 6, 6));
  }

  @Test
  void onlyTheNumberOfSeparatedDeparturesIsKnown() {
    for (Gap gap : new Gap[] {at(40, 36), at(36, 40)}) {
      assertThat(gap).isEqualTo(TWO_OF_FIVE);
      assertThat(gap.isKnown()).isFalse();
    }
    assertThat(at(40).with(37, 2)).isEqualTo(new Gap(40, 5, 3));
  }

  @Test
  void onceAllHaveBeenGivenUpItIsKnownThatAllAreFree() {
    assertThat(TWO_OF_FIVE.with(39, 3)).isEqualTo(new Gap(40, 5, 5));
    assertThat(TWO_OF_FIVE.with(38, 1).with(40, 2).isKnown()).isTrue();
  }

  @Test
  void aDepartureThatIsKnownToBeFreeCannotBeGivenUpAgain() {
    Gap gap = Gap.NONE.with(5, 3);
    for (long from = 3; from <= 7; from++) {
      assertThat(gap.with(from, 3)).as("%d", from).isNull();
    }
    assertThat(gap.with(4, 1)).isNull();
    assertThat(gap.with(8, 7)).isNull();
    assertThat(TWO_OF_FIVE.with(40, 4)).isNull();
    assertThat(TWO_OF_FIVE.with(40, 3)).isEqualTo(new Gap(40, 5, 5));
  }

  @Test
  void departuresThatHaveComeAreNoLongerFree() {
    Gap gap = Gap.NONE.with(5, 3);
    assertThat(gap.of(7)).isEqualTo(gap);
    assertThat(gap.of(5)).isEqualTo(gap);
    assertThat(gap.of(4)).isEqualTo(new Gap(4, 2, 2));
    assertThat(gap.of(3)).isEqualTo(new Gap(3, 1, 1));
    assertThat(gap.of(2)).isEqualTo(Gap.NONE);
    assertThat(gap.of(0)).isEqualTo(Gap.NONE);
  }

  @Test
  void theEarliestOfUnknownDeparturesAreAssumedToBeFree() {
    assertThat(TWO_OF_FIVE.of(40).free()).isEqualTo(2);
    assertThat(TWO_OF_FIVE.of(39)).isEqualTo(new Gap(39, 4, 1));
    assertThat(TWO_OF_FIVE.of(38)).isEqualTo(Gap.NONE);
  }

  @Test
  void theEarliestDepartureIsHandedOutFirst() {
    assertThat(new Gap(5, 3, 3).withoutEarliest()).isEqualTo(new Gap(4, 2, 2));
    assertThat(at(5).withoutEarliest()).isEqualTo(Gap.NONE);
  }

  @Test
  void departuresThatStandAreCountedFromTheEarliest() {
    Gap gap = new Gap(5, 2, 2); // of 6 to come, 6, 3, 2 and 1 stand
    assertThat(gap.standing(1, 6)).isEqualTo(6);
    assertThat(gap.standing(2, 6)).isEqualTo(3);
    assertThat(gap.standing(3, 6)).isEqualTo(2);
    assertThat(gap.standing(1, 5)).isEqualTo(3);
    assertThat(Gap.NONE.standing(2, 6)).isEqualTo(5);
  }

  @Test
  void onlyAKnownGapAtTheEndFreesTheLastDepartures() {
    assertThat(Gap.NONE.last()).isZero();
    assertThat(Gap.NONE.with(2, 2).last()).isEqualTo(2);
    assertThat(Gap.NONE.with(3, 2).last()).isZero();
    assertThat(at(3, 1).last()).isZero();
    assertThat(at(3, 1, 2).last()).isEqualTo(3);
  }

  @Test
  void laterDeparturesMoveIt() {
    assertThat(TWO_OF_FIVE.moved(3)).isEqualTo(new Gap(43, 5, 2));
    assertThat(Gap.NONE.moved(3)).isEqualTo(Gap.NONE);
  }
}
