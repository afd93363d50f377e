// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.state.Gaps.Gap;
import org.junit.jupiter.api.Test;

/**
 * Departures that were given up: which of them are known, how many are free, which is the earliest.
 */
class GapsTest {

  /** One departure is given up at each of these numbers. */
  private static Gaps at(long... numbers) {
    Gaps gaps = Gaps.NONE;
    for (long number : numbers) {
      gaps = gaps.with(number, 1);
    }
    return gaps;
  }

  /** Of 40 to 36 two were given up, which ones is unknown; and 20 was. */
  private static Gaps twoOfFive() {
    Gaps gaps = at(100, 90, 80, 70, 60, 50, 40, 36, 20).of(45);
    assertThat(gaps.free()).isEqualTo(3);
    assertThat(gaps.earliest()).isEqualTo(new Gap(20, 1, 1));
    return gaps;
  }

  @Test
  void departuresInARowAreOneGap() {
    assertThat(at(5, 4).earliest()).isEqualTo(new Gap(5, 2, 2));
    assertThat(at(4, 5).earliest()).isEqualTo(new Gap(5, 2, 2));
    assertThat(at(5, 3, 4).earliest()).isEqualTo(new Gap(5, 3, 3));
    assertThat(at(9, 3, 5).with(8, 3).earliest()).isEqualTo(new Gap(9, 5, 5));
    assertThat(at(9, 2).with(5, 3).withoutEarliest().earliest()).isEqualTo(new Gap(5, 4, 4));
  }

  @Test
  void departuresWithAnotherBetweenThemAreTwoGaps() {
    for (Gaps gaps : new Gaps[] {at(6, 4), at(4, 6)}) {
      assertThat(gaps.free()).isEqualTo(2);
      assertThat(gaps.earliest()).isEqualTo(new Gap(6, 1, 1));
      assertThat(gaps.withoutEarliest().earliest()).isEqualTo(new Gap(4, 1, 1));
    }
  }

  @Test
  void aFreeDepartureCannotBeGivenUpAgain() {
    Gaps gaps = at(9).with(5, 2);
    assertThat(gaps.with(9, 1)).isNull();
    assertThat(gaps.with(5, 2)).isNull();
    assertThat(gaps.with(5, 1)).isNull();
    assertThat(gaps.with(4, 1)).isNull();
    assertThat(gaps.with(6, 2)).isNull();
    assertThat(gaps.with(4, 2)).isNull();
    assertThat(gaps.with(7, 4)).isNull();
  }

  @Test
  void ofNineGapsTheClosestTwoAreMerged() {
    Gaps gaps = at(100, 90, 80, 70, 60, 50, 40, 36, 20);
    assertThat(gaps.free()).isEqualTo(9);
    for (int known = 100; known >= 50; known -= 10) {
      assertThat(gaps.earliest()).isEqualTo(new Gap(known, 1, 1));
      gaps = gaps.withoutEarliest();
    }
    assertThat(gaps.earliest()).isEqualTo(new Gap(20, 1, 1));
    assertThat(gaps.withoutEarliest().earliest()).isNull();
    assertThat(gaps.withoutEarliest().free()).isEqualTo(2);
  }

  @Test
  void whereGapsAreEquallyCloseTheEarliestBecomeOne() {
    Gaps gaps = at(90, 80, 70, 60, 50, 40, 30, 20, 10);
    assertThat(gaps.earliest()).isEqualTo(new Gap(70, 1, 1));
    assertThat(gaps.of(89).free()).isEqualTo(8);
    assertThat(gaps.of(88).free()).isEqualTo(7);
  }

  @Test
  void theLastTwoOfNineMayBeTheClosest() {
    Gaps gaps = at(90, 80, 70, 60, 50, 40, 30, 20, 13).of(25);
    assertThat(gaps.free()).isEqualTo(2);
    assertThat(gaps.earliest()).isNull();
  }

  @Test
  void anyDepartureOfAMergedGapMayBeGivenUp() {
    for (long number = 36; number <= 40; number++) {
      Gaps more = twoOfFive().with(number, 1);
      assertThat(more.free()).isEqualTo(4);
      assertThat(more.earliest()).isEqualTo(new Gap(20, 1, 1));
    }
  }

  @Test
  void onceAllHaveBeenGivenUpItIsKnownThatAllAreFree() {
    for (long from = 38; from <= 40; from++) {
      assertThat(twoOfFive().with(from, 3).earliest()).isEqualTo(new Gap(40, 5, 5));
    }
    Gaps all = twoOfFive().with(40, 1).with(37, 2);
    assertThat(all.earliest()).isEqualTo(new Gap(40, 5, 5));
    assertThat(all.with(38, 1)).isNull();
  }

  @Test
  void noMoreAreGivenUpThanThereAreNorAnyBeyond() {
    assertThat(twoOfFive().with(40, 4)).isNull();
    assertThat(twoOfFive().with(39, 4)).isNull();
    assertThat(twoOfFive().with(41, 2)).isNull();
    assertThat(twoOfFive().with(37, 3)).isNull();
    assertThat(twoOfFive().with(36, 2)).isNull();
  }

  @Test
  void aDepartureBesideAMergedGapIsAGapOfItsOwn() {
    assertThat(twoOfFive().with(41, 1).earliest()).isEqualTo(new Gap(41, 1, 1));
    assertThat(twoOfFive().with(35, 1).earliest()).isEqualTo(new Gap(35, 1, 1));
  }

  @Test
  void departuresThatHaveComeAreNoLongerFree() {
    Gaps gaps = at(7).with(5, 3);
    assertThat(gaps.of(7).free()).isEqualTo(4);
    assertThat(gaps.of(6).free()).isEqualTo(3);
    assertThat(gaps.of(5).free()).isEqualTo(3);
    assertThat(gaps.of(4).earliest()).isEqualTo(new Gap(4, 2, 2));
    assertThat(gaps.of(3).earliest()).isEqualTo(new Gap(3, 1, 1));
    assertThat(gaps.of(2)).isSameAs(Gaps.NONE);
  }

  @Test
  void inAMergedGapTheEarliestAreAssumedToBeFree() {
    assertThat(twoOfFive().of(40).free()).isEqualTo(3);
    assertThat(twoOfFive().of(39).free()).isEqualTo(2);
    assertThat(twoOfFive().of(38).free()).isEqualTo(1);
  }

  @Test
  void theEarliestDepartureIsHandedOutFirst() {
    Gaps gaps = at(9).with(5, 2);
    assertThat(gaps.withoutEarliest().earliest()).isEqualTo(new Gap(5, 2, 2));
    Gaps one = gaps.withoutEarliest().withoutEarliest();
    assertThat(one.earliest()).isEqualTo(new Gap(4, 1, 1));
    assertThat(one.withoutEarliest().free()).isZero();
  }

  @Test
  void whereNoneIsKnownToBeFreeNoneIsHandedOut() {
    Gaps unknown = twoOfFive().withoutEarliest();
    assertThat(unknown.earliest()).isNull();
    assertThat(unknown.withoutEarliest().free()).isEqualTo(2);
  }

  @Test
  void departuresThatStandAreCountedFromTheEarliest() {
    Gaps gaps = at(5).with(3, 2); // of 6 to come, 6, 4 and 1 stand
    assertThat(gaps.standing(1, 6)).isEqualTo(6);
    assertThat(gaps.standing(2, 6)).isEqualTo(4);
    assertThat(gaps.standing(3, 6)).isEqualTo(1);
    assertThat(gaps.standing(1, 5)).isEqualTo(4);
    assertThat(Gaps.NONE.standing(2, 6)).isEqualTo(5);
  }

  @Test
  void asManyOfTheLastAreFreeAsAreKnownToBe() {
    assertThat(Gaps.NONE.last()).isZero();
    assertThat(at(9).with(2, 2).last()).isEqualTo(2);
    assertThat(at(9, 1).last()).isEqualTo(1);
    assertThat(at(9, 2).last()).isZero();
    assertThat(at(9).with(3, 2).last()).isZero();
    Gaps unknown = at(90, 80, 70, 60, 50, 40, 30, 3, 1);
    assertThat(unknown.free()).isEqualTo(9);
    assertThat(unknown.last()).isZero();
    assertThat(unknown.with(2, 1).last()).isEqualTo(3);
  }

  @Test
  void theLastAreRemovedAloneAndTheOthersMove() {
    Gaps gaps = at(9).with(2, 2).withoutLast();
    assertThat(gaps.free()).isEqualTo(1);
    assertThat(gaps.moved(-2).earliest()).isEqualTo(new Gap(7, 1, 1));
    assertThat(gaps.moved(3).earliest()).isEqualTo(new Gap(12, 1, 1));
  }
}
