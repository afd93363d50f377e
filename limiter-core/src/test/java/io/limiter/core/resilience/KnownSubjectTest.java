// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowCounter;
import io.limiter.core.rule.SlidingWindowLog;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.core.store.LimitStore.KnownUse;
import io.limiter.core.store.LimitStore.KnownUse.PastUnits;
import io.limiter.core.store.LimitStore.KnownUse.RuleUse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The numbers that one instance keeps about one key, to the nanosecond. */
class KnownSubjectTest {

  private static final long SECOND = 1_000_000_000L;

  /** Where the clock starts: its zero has no meaning. */
  private static final long START = 1_000 * SECOND;

  /** Its eight parts, in which own units are counted, are seven seconds and the present one. */
  private static final Rule LOG = SlidingWindowLog.of(100, Duration.ofSeconds(7));

  /** A group of units that wait to be reported lasts an eighth of its window: a second. */
  private static final Rule LOG_OF_8_S = SlidingWindowLog.of(100, Duration.ofSeconds(8));

  private static final Rule BUCKET = TokenBucketRule.of(100, 100, Duration.ofSeconds(8));

  private final KnownSubjectTable table = new KnownSubjectTable(10, () -> START);
  private final KnownSubject subject = new KnownSubject();

  @Test
  void withoutAVerdictOnlyWhatIsUnderWayIsKnown() {
    assertThat(use(charge(LOG), 0)).isNull();

    subject.sent(3);
    subject.sent(4);
    subject.answered(3);

    assertThat(use(charge(LOG), 0))
        .isEqualTo(new KnownUse(START / 1_000, List.of(), 0, List.of(new PastUnits(0, 4))));
  }

  @Test
  void aVerdictIsAdoptedWithItsAge() {
    learn(charge(LOG), verdict(LOG, 6, 2, 5).ban(Duration.ofSeconds(9)), 0);

    assertThat(use(charge(LOG), 1.5))
        .isEqualTo(
            new KnownUse(
                1_500_000,
                List.of(new RuleUse(6, 1, 2_000_000, 5_000_000, 0)),
                9_000_000,
                List.of()));
    assertThat(use(charge(LOG), 1.5)).as("it is adopted already").isNull();
  }

  @Test
  void eachRuleHasItsOwnNumbers() {
    Charge charge = charge(LOG, LOG_OF_8_S);
    Verdict verdict =
        Verdict.of(policy(charge), Outcome.ALLOWED)
            .rules(List.of(rule(BUCKET, 1, 1, 1), rule(LOG, 6, 2, 5), rule(LOG_OF_8_S, 7, 3, 4)))
            .build();

    subject.learn(charge, verdict, 1, true, false, at(0), at(0), table);

    assertThat(rules(charge, 0))
        .containsExactly(
            new RuleUse(6, 1, 2_000_000, 5_000_000, 0), new RuleUse(7, 1, 3_000_000, 4_000_000, 0));
  }

  @Test
  void theVerdictOfTheDuplicateGuardIsTakenFromItsPlace() {
    Verdict verdict =
        Verdict.of(policy(charge(LOG)), Outcome.DUPLICATE).duplicate(rule(LOG, 6, 2, 5)).build();

    subject.learn(charge(LOG), verdict, -1, false, false, at(0), at(0), table);

    assertThat(rules(charge(LOG), 0)).containsExactly(new RuleUse(6, 1, 2_000_000, 5_000_000, 0));
  }

  /** If more of them were missing than return at that time, the call would be denied then too. */
  @ParameterizedTest
  @CsvSource({"5, 2, 3", "5, 4, 1", "5, 5, 1", "1, 4, 1"})
  void aDenialReturnsWhatItsCallLacked(int cost, long remaining, long returning) {
    RuleVerdict denial =
        RuleVerdict.of(LOG)
            .remaining(remaining)
            .violatedFor(Duration.ofSeconds(2))
            .effectiveWindow(Duration.ofSeconds(2))
            .resetAfter(Duration.ofSeconds(5))
            .build();
    learn(
        charge(LOG).withCost(cost),
        Verdict.of(policy(charge(LOG)), Outcome.LIMITED).rules(List.of(denial)),
        0);

    assertThat(rules(charge(LOG), 0))
        .containsExactly(new RuleUse(remaining, returning, 2_000_000, 5_000_000, 0));
  }

  @Test
  void callsUnderWayAreAdoptedAtEachDecisionAndOnceMoreWhenTheyHaveEnded() {
    learn(charge(LOG), verdict(LOG, 6, 2, 5), 0);
    subject.sent(2);

    for (int i = 0; i < 3; i++) {
      assertThat(use(charge(LOG), i).since()).containsExactly(new PastUnits(0, 2));
    }
    subject.answered(2);

    assertThat(use(charge(LOG), 3).since()).isEmpty();
    assertThat(use(charge(LOG), 4)).isNull();
  }

  @Test
  void aVerdictOnAQuestionAskedLaterReplacesTheOneBefore() {
    learn(charge(LOG), verdict(LOG, 6, 2, 5).ban(Duration.ofSeconds(9)), 0);
    subject.learn(
        charge(LOG), verdict(LOG, 8, 1, 3).build(), 0, false, false, at(0) + 1, at(1), table);

    KnownUse known = use(charge(LOG), 1.25);

    assertThat(known.rules()).containsExactly(new RuleUse(8, 1, 1_000_000, 3_000_000, 0));
    assertThat(known.ageMicros()).isEqualTo(250_000);
    assertThat(known.bannedMicros()).isZero();
  }

  /** Which of them the store decided first is unknown; so the stricter of each number counts. */
  @ParameterizedTest
  @CsvSource({
    // both verdicts: remaining, returns in s, resets in s, ban in s; then what counts 1 s later
    "6, 2, 5, 9,  8, 3, 3, 4,  6, 3000000, 4000000, 8000000",
    "6, 5, 5, 2,  4, 3, 6, 4,  4, 4000000, 6000000, 4000000",
    "6, 4, 3, 0,  6, 3, 2, 0,  6, 3000000, 2000000, 0",
  })
  void ofTwoVerdictsWithoutAnOrderTheStricterNumbersCount(
      long remaining1,
      long returns1,
      long resets1,
      long ban1,
      long remaining2,
      long returns2,
      long resets2,
      long ban2,
      long remaining,
      long returnsMicros,
      long resetsMicros,
      long banMicros) {
    Verdict.Builder first = verdict(LOG, remaining1, returns1, resets1);
    Verdict.Builder second = verdict(LOG, remaining2, returns2, resets2);
    learn(charge(LOG), ban1 > 0 ? first.ban(Duration.ofSeconds(ban1)) : first, 0);
    Verdict late = (ban2 > 0 ? second.ban(Duration.ofSeconds(ban2)) : second).build();

    subject.learn(charge(LOG), late, 0, true, false, at(0), at(1), table);

    assertThat(use(charge(LOG), 1))
        .isEqualTo(
            new KnownUse(
                0,
                List.of(new RuleUse(remaining, 1, returnsMicros, resetsMicros, 0)),
                banMicros,
                List.of()));
  }

  @Test
  void aVerdictThatIsMergedReturnsOneUnitFirst() {
    learn(charge(LOG), verdict(LOG, 1, 2, 5), 0);
    RuleVerdict denial =
        RuleVerdict.of(LOG).remaining(1).violatedFor(Duration.ofSeconds(3)).build();
    Verdict late = Verdict.of(policy(charge(LOG)), Outcome.LIMITED).rules(List.of(denial)).build();

    subject.learn(charge(LOG).withCost(4), late, 0, true, false, at(0), at(1), table);

    assertThat(rules(charge(LOG), 1)).extracting(RuleUse::returning).containsExactly(1L);
  }

  /** The store's clock orders verdicts on one key, but not those on several. */
  @ParameterizedTest
  @CsvSource({
    "true, 50, 51, 8", // decided later
    "true, 50, 49, 6", // decided earlier: ignored
    "true, 50, 50, 5", // unknown: the fewer
    "true, 0, 50, 5",
    "true, 50, 0, 5",
    "false, 50, 51, 5",
    "false, 50, 49, 5"
  })
  void theStoresClockOrdersVerdicts(
      boolean ordered, long firstMicros, long secondMicros, long remaining) {
    long stricter = remaining == 5 ? 5 : 8;
    learn(charge(LOG), verdict(LOG, 6, 2, 5).decidedAtMicros(firstMicros), 0);
    Verdict second = verdict(LOG, stricter, 1, 1).decidedAtMicros(secondMicros).build();

    subject.learn(charge(LOG), second, 0, ordered, false, at(0), at(1), table);

    KnownUse known = use(charge(LOG), 1);
    assertThat(known.rules()).extracting(RuleUse::remaining).containsExactly(remaining);
    assertThat(known.rules())
        .as("when the first unit returns: of both, of the second, or of the first")
        .extracting(RuleUse::returnsAfterMicros)
        .containsExactly(remaining == 6 ? 2_000_000L : 1_000_000L);
  }

  @Test
  void aVerdictWithoutATimeIsNotEarlierThanAnother() {
    learn(charge(LOG), verdict(LOG, 6, 2, 5), 0);
    Verdict second = verdict(LOG, 8, 1, 1).decidedAtMicros(50).build();

    subject.learn(charge(LOG), second, 0, true, false, at(0), at(1), table);

    assertThat(rules(charge(LOG), 1)).extracting(RuleUse::remaining).containsExactly(6L);
  }

  @Test
  void aVerdictThatIsIgnoredIsNoNews() {
    learn(charge(LOG), verdict(LOG, 6, 2, 5).decidedAtMicros(50), 0);
    assertThat(use(charge(LOG), 0)).isNotNull();

    Verdict earlier = verdict(LOG, 8, 1, 1).decidedAtMicros(49).build();
    subject.learn(charge(LOG), earlier, 0, true, false, at(0), at(1), table);

    assertThat(use(charge(LOG), 1)).isNull();
  }

  @Test
  void ownUnitsCountWithinTheWindowAndThePartInWhichItBegins() {
    for (int second = 0; second < 8; second++) {
      take(charge(LOG).withCost(1 << second), second);
      take(charge(LOG).withCost(1 << second), second + 0.999999999);
    }

    assertThat(own(charge(LOG), 7.5)).as("all eight parts").isEqualTo(510);
    assertThat(own(charge(LOG), 7.999999999)).isEqualTo(510);
    assertThat(own(charge(LOG), 8)).as("without the first").isEqualTo(508);
    assertThat(own(charge(LOG), 14)).as("the last").isEqualTo(256);
    assertThat(own(charge(LOG), 15)).isZero();
    take(charge(LOG), 16);
    assertThat(own(charge(LOG), 16)).as("in place of the first").isEqualTo(1);
  }

  @Test
  void ownUnitsCountForEachRuleWithinItsWindow() {
    Charge charge = charge(SlidingWindowLog.of(100, Duration.ofSeconds(2)), LOG);
    take(charge, 0);
    take(charge, 4);
    take(charge, 5);

    subject.learn(
        charge,
        Verdict.of(policy(charge), Outcome.ALLOWED)
            .rules(charge.stack().rules().stream().map(rule -> rule(rule, 1, 1, 1)).toList())
            .build(),
        0,
        true,
        false,
        at(6.5),
        at(6.5),
        table);

    assertThat(rules(charge, 6.5)).extracting(RuleUse::ownUnits).containsExactly(2L, 3L);
  }

  @Test
  void deniedCallsAndPeeksAreNotOwnUnits() {
    learn(charge(LOG), verdict(LOG, 6, 2, 5), 0);

    assertThat(rules(charge(LOG), 0)).extracting(RuleUse::ownUnits).containsExactly(0L);
  }

  @Test
  void changedRulesStartWithoutOwnUnits() {
    Rule hourly = SlidingWindowLog.of(100, Duration.ofHours(1));
    take(charge(LOG).withCost(50), 0);
    take(charge(hourly), 0);

    assertThat(own(charge(hourly), 0)).isEqualTo(1);
  }

  @Test
  void theFirstVerdictKeepsUnitsToReport() {
    admit(charge(LOG), 100, 0);

    learn(charge(LOG), verdict(LOG, 6, 2, 5), 0);

    assertThat(past(0)).hasSize(1);
    assertThat(use(charge(LOG), 0).since()).containsExactly(new PastUnits(0, 1));
  }

  @Test
  void changedRulesKeepUnitsToReportOfTheirOwn() {
    learn(charge(LOG), verdict(LOG, 6, 2, 5), 0);
    admit(charge(LOG), 100, 0);
    admit(charge(LOG_OF_8_S).withCost(2), 100, 0);

    learn(charge(LOG_OF_8_S), verdict(LOG_OF_8_S, 7, 2, 5), 0);

    assertThat(costs(past(0))).containsExactly(2);
  }

  @Test
  void changedRulesStartWithoutUnitsToReport() {
    learn(charge(LOG), verdict(LOG, 6, 2, 5).ban(Duration.ofSeconds(9)), 0);
    admit(charge(LOG), 100, 0);

    learn(charge(LOG_OF_8_S), verdict(LOG_OF_8_S, 7, 2, 5).decidedAtMicros(1), 0);

    assertThat(past(0)).isEmpty();
    KnownUse known = use(charge(LOG_OF_8_S), 0);
    assertThat(known.rules()).extracting(RuleUse::remaining).containsExactly(7L);
    assertThat(known.bannedMicros()).isZero();
    assertThat(use(charge(LOG), 0)).isNull();
  }

  @Test
  void whatIsKnownOfOtherRulesIsNotAdopted() {
    learn(charge(LOG), verdict(LOG, 6, 2, 5), 0);
    admit(charge(LOG), 100, 0);

    KnownUse known = use(charge(LOG_OF_8_S), 0);

    assertThat(known.rules()).isEmpty();
    assertThat(known.since()).isEmpty();
  }

  @Test
  void whatTheFallbackHasAdmittedIsAdoptedWithItsAge() {
    learn(charge(LOG_OF_8_S), verdict(LOG_OF_8_S, 6, 2, 5), 0);
    admit(charge(LOG_OF_8_S).withCost(2), 100, 0);
    admit(charge(LOG_OF_8_S).withCost(3), 100, 2);
    subject.sent(4);

    assertThat(use(charge(LOG_OF_8_S), 3).since())
        .containsExactly(
            new PastUnits(3_000_000, 2), new PastUnits(1_000_000, 3), new PastUnits(0, 4));
  }

  /** A group is as old as its last unit, and begins with its first. */
  @Test
  void unitsToReportAreGroupedByAge() {
    Charge charge = charge(LOG_OF_8_S);
    admit(charge, 100, 0);
    admit(charge.withCost(2), 100, 0.5);
    admit(charge.withCost(4), 100, 1);
    admit(charge.withCost(8), 100, 1.000000001);

    assertThat(past(2))
        .extracting(one -> one.charge().cost(), PastCharge::age)
        .containsExactly(tuple(7, Duration.ofSeconds(1)), tuple(8, Duration.ofNanos(999_999_000)));
  }

  @Test
  void theUnitsOfACounterAreGroupedByTwiceTheTime() {
    Charge charge = charge(SlidingWindowCounter.of(100, Duration.ofSeconds(8)), LOG);
    admit(charge, 100, 0);
    admit(charge, 100, 2);
    admit(charge, 100, 2.000000001);

    assertThat(costs(past(2.1))).containsExactly(2, 1);
  }

  @Test
  void theLastOfEightGroupsGrows() {
    admitEightGroups();
    admit(charge(BUCKET).withCost(10), 100, 15.5);

    assertThat(costs(past(15.5))).containsExactly(1, 1, 1, 1, 1, 1, 1, 11);

    admit(charge(BUCKET).withCost(10), 100, 15.75);
    assertThat(costs(past(15.75)))
        .as("although it was sent")
        .containsExactly(1, 1, 1, 1, 1, 1, 1, 21);
  }

  @Test
  void aGroupThatWasSentIsFollowedByAnother() {
    admit(charge(LOG), 100, 0);
    List<PastCharge> first = past(0);
    admit(charge(LOG), 100, 0);

    List<PastCharge> both = past(0);

    assertThat(first).hasSize(1);
    assertThat(both).hasSize(2);
    assertThat(both.get(0)).isEqualTo(first.get(0));
    assertThat(both.get(1).id()).isNotEqualTo(both.get(0).id());
  }

  @Test
  void aGroupHasAtMostTheMostUnitsOfACharge() {
    Charge charge = charge(SlidingWindowLog.of(Charge.MAX_COST, Duration.ofSeconds(8)));
    admit(charge.withCost(Charge.MAX_COST), 2_000_000, 0);
    admit(charge.withCost(7), 2_000_000, 0);

    assertThat(costs(past(0))).containsExactly(Charge.MAX_COST);
  }

  /** Units that have come back in the meantime are not reported. */
  @ParameterizedTest
  @CsvSource({"6, 5", "5, 5", "4, 4", "3, 3", "2, 3"})
  void noMoreIsReportedThanIsUsedOrTheLastCallCosts(long used, int reported) {
    admit(charge(LOG).withCost(2), 100, 0);
    admit(charge(LOG).withCost(3), used, 0);

    assertThat(costs(past(0))).containsExactly(reported);
  }

  /** Those that came back may be the same ones. */
  @Test
  void unitsGivenBackAfterOthersCameBackAreReported() {
    admit(charge(LOG).withCost(2), 100, 0);
    KnownSubject.Pending group = admit(charge(LOG).withCost(3), 4, 0);

    subject.giveBack(group, 1, table);

    assertThat(costs(past(0))).containsExactly(4);
  }

  @Test
  void aGroupThatWasSentNeverShrinks() {
    admitEightGroups();
    past(15);
    KnownSubject.Pending last = admit(charge(BUCKET), 1, 15);
    subject.giveBack(last, 1, table);

    assertThat(costs(past(15))).containsExactly(1, 1, 1, 1, 1, 1, 1, 2);
  }

  @Test
  void unitsGivenBackAreNotReported() {
    KnownSubject.Pending group = admit(charge(LOG).withCost(5), 100, 0);
    use(charge(LOG), 0);

    subject.giveBack(group, 2, table);

    assertThat(use(charge(LOG), 0).since()).as("news").containsExactly(new PastUnits(0, 3));
    subject.giveBack(group, 4, table);
    assertThat(use(charge(LOG), 0).since()).isEmpty();
    assertThat(past(0)).isEmpty();
    use(charge(LOG), 0);
    subject.giveBack(group, 1, table);
    assertThat(use(charge(LOG), 0)).as("nothing is left to give back").isNull();
  }

  @Test
  void unitsGivenBackOfOneGroupLeaveTheOthers() {
    KnownSubject.Pending first = admit(charge(LOG), 100, 0);
    admit(charge(LOG).withCost(2), 100, 3);

    subject.giveBack(first, 1, table);

    assertThat(costs(past(3))).containsExactly(2);
  }

  @ParameterizedTest
  @CsvSource({"6.999999999, 1", "7, 0"})
  void unitsOfALogAreReportedWithinItsWindow(double seconds, int reported) {
    admit(charge(LOG), 100, 0);

    assertThat(past(seconds)).hasSize(reported);
  }

  @ParameterizedTest
  @CsvSource({"13.999999999, 1", "14, 0"})
  void unitsOfACounterAreReportedWithinTwoWindows(double seconds, int reported) {
    admit(charge(SlidingWindowCounter.of(100, Duration.ofSeconds(7))), 100, 0);

    assertThat(past(seconds)).hasSize(reported);
  }

  @Test
  void unitsOfALogThatAreTooOldLeaveOneByOne() {
    admit(charge(LOG), 100, 0);
    admit(charge(LOG).withCost(2), 100, 2);
    admit(charge(LOG).withCost(4), 100, 4);

    assertThat(costs(past(9))).containsExactly(4);
  }

  /** A bucket that was full for longer than its time still lacks what was taken from it. */
  @Test
  void unitsOfABucketThatAreTooOldJoinTheNextOnes() {
    admit(charge(BUCKET), 100, 0);
    KnownSubject.Pending second = admit(charge(BUCKET).withCost(2), 100, 4);
    admit(charge(BUCKET).withCost(4), 100, 8);

    use(charge(BUCKET), 16);
    List<PastCharge> past = past(16);
    subject.giveBack(second, 1, table);

    assertThat(costs(past)).containsExactly(3, 4);
    assertThat(past)
        .extracting(PastCharge::age)
        .containsExactly(Duration.ofSeconds(12), Duration.ofSeconds(8));
    assertThat(costs(past(16))).as("which of them came back is unknown").containsExactly(3, 4);
  }

  @Test
  void unitsThatJoinHaveAtMostTheMostUnitsOfACharge() {
    Rule large = TokenBucketRule.of(Charge.MAX_COST, Charge.MAX_COST, Duration.ofSeconds(8));
    admit(charge(large).withCost(Charge.MAX_COST), 2_000_000, 0);
    admit(charge(large).withCost(2), 2_000_000, 4);

    assertThat(costs(past(17))).containsExactly(Charge.MAX_COST);
  }

  @Test
  void theLastUnitsOfABucketAreNotReportedWhenTheyAreTooOld() {
    admit(charge(BUCKET), 100, 0);
    admit(charge(BUCKET), 100, 4);

    assertThat(past(20)).isEmpty();
  }

  /** The store may have recorded it. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aGroupThatWasSentDoesNotJoin(boolean both) {
    admit(charge(BUCKET), 100, 0);
    if (both) {
      admit(charge(BUCKET).withCost(2), 100, 4);
    }
    List<PastCharge> sent = past(4);
    if (!both) {
      admit(charge(BUCKET).withCost(2), 100, 4);
    }

    List<PastCharge> past = past(18);

    assertThat(costs(past)).containsExactly(1, 2);
    assertThat(past).extracting(PastCharge::id).startsWith(sent.get(0).id());
  }

  @Test
  void asManyGroupsAreSentAsThereIsRoomFor() {
    admit(charge(LOG_OF_8_S), 100, 0);
    admit(charge(LOG_OF_8_S).withCost(2), 100, 2);
    List<PastCharge> almostFull = new ArrayList<>();
    IntStream.range(1, LimitRequest.MAX_PAST)
        .forEach(i -> almostFull.add(new PastCharge(charge(LOG), Duration.ZERO, "other" + i)));

    subject.addPast(almostFull, at(2), table);
    KnownSubject.Pending last = admit(charge(LOG_OF_8_S).withCost(4), 100, 2);

    assertThat(almostFull).hasSize(LimitRequest.MAX_PAST);
    assertThat(almostFull.get(LimitRequest.MAX_PAST - 1).charge().cost()).isEqualTo(1);
    subject.giveBack(last, 3, table);
    assertThat(costs(past(2))).as("the second was not sent before").containsExactly(1, 3);
  }

  @Test
  void whatTheStoreHasRecordedIsNotSentAgain() {
    admit(charge(LOG_OF_8_S), 100, 0);
    admit(charge(LOG_OF_8_S).withCost(2), 100, 2);
    List<PastCharge> sent = past(2);

    subject.heard(List.of(sent.get(1)), table);
    assertThat(costs(past(2))).containsExactly(1);
    subject.heard(sent, table);
    assertThat(past(2)).isEmpty();
  }

  @Test
  void aGroupThatHasGrownSinceIsSentAgain() {
    admitEightGroups();
    List<PastCharge> sent = past(15);
    admit(charge(BUCKET).withCost(5), 100, 15);

    subject.heard(sent, table);

    List<PastCharge> again = past(15);
    assertThat(costs(again)).containsExactly(6);
    assertThat(again.get(0).id()).isEqualTo(sent.get(7).id());
  }

  @Test
  void whatOthersHaveSentIsNotRecordedHere() {
    admit(charge(LOG), 100, 0);
    past(0);

    subject.heard(List.of(new PastCharge(charge(LOG), Duration.ZERO, "other")), table);

    assertThat(past(0)).hasSize(1);
  }

  @Test
  void aRequestCarriesUnitsOnlyWhileThereAreSome() {
    LimitRequest call = LimitRequest.of(Policy.of("known", LOG), new Subject("test", "ada"));
    KnownSubject[] one = {subject};
    assertThat(table.withPast(call, one, at(0))).isSameAs(call);

    KnownSubject.Pending first = admit(charge(LOG), 100, 0);
    admit(charge(LOG), 100, 2);
    subject.giveBack(first, 1, table);
    assertThat(table.withPast(call, one, at(2)).past()).hasSize(1);

    subject.heard(past(2), table);
    subject.heard(List.of(), table);
    assertThat(table.withPast(call, one, at(2))).isSameAs(call);
    admit(charge(LOG), 100, 2);
    assertThat(table.withPast(call, one, at(2)).past()).hasSize(1);
  }

  @ParameterizedTest
  @CsvSource({"5, 0, 5, false", "5, 0, 5.000000001, true", "2, 9, 9, false", "2, 9, 9.1, true"})
  void aVerdictIsKeptUntilItsRulesAndItsBanAreOver(
      long resets, long ban, double seconds, boolean forgotten) {
    Verdict.Builder verdict = verdict(LOG, 6, 2, resets);
    learn(charge(LOG), ban > 0 ? verdict.ban(Duration.ofSeconds(ban)) : verdict, 0);
    use(charge(LOG), 0);

    assertThat(subject.forgetIfExpired(at(seconds), table)).isEqualTo(forgotten);

    KnownUse known = use(charge(LOG), 0);
    if (forgotten) {
      assertThat(known).isEqualTo(new KnownUse(0, List.of(), 0, List.of()));
    } else {
      assertThat(known).isNull();
    }
  }

  @Test
  void aVerdictIsKeptUntilTheLastOfItsRulesIsOver() {
    Charge charge = charge(LOG, LOG_OF_8_S, BUCKET);
    Verdict verdict =
        Verdict.of(policy(charge), Outcome.ALLOWED)
            .rules(List.of(rule(LOG, 1, 1, 2), rule(LOG_OF_8_S, 1, 1, 6), rule(BUCKET, 1, 1, 4)))
            .build();
    subject.learn(charge, verdict, 0, true, false, at(0), at(0), table);

    assertThat(subject.forgetIfExpired(at(6), table)).isFalse();
    assertThat(subject.forgetIfExpired(at(6.1), table)).isTrue();
  }

  @Test
  void withoutAVerdictThereIsNothingToKeep() {
    assertThat(subject.forgetIfExpired(START, table)).isTrue();
  }

  @Test
  void callsUnderWayAreKept() {
    subject.sent(1);
    assertThat(subject.forgetIfExpired(at(100), table)).isFalse();

    subject.answered(1);
    assertThat(subject.forgetIfExpired(at(100), table)).isTrue();
  }

  @Test
  void unitsToReportAreKeptWhileTheyCount() {
    admit(charge(LOG), 100, 0);
    admit(charge(LOG), 100, 3);

    assertThat(subject.forgetIfExpired(at(9.9), table)).isFalse();
    assertThat(subject.forgetIfExpired(at(10), table)).isTrue();
    assertThat(past(0)).isEmpty();
  }

  @Test
  void aLiftedBanIsNews() {
    learn(charge(LOG), verdict(LOG, 6, 2, 5).ban(Duration.ofSeconds(9)), 0);
    use(charge(LOG), 0);

    subject.liftBan();

    KnownUse known = use(charge(LOG), 0);
    assertThat(known.bannedMicros()).isZero();
    assertThat(known.rules()).hasSize(1);
  }

  @Test
  void forgettingKeepsOnlyTheCallsThatAreUnderWay() {
    learn(charge(LOG), verdict(LOG, 6, 2, 5).ban(Duration.ofSeconds(9)), 0);
    admit(charge(LOG), 100, 0);
    subject.sent(3);

    subject.forget(table);

    assertThat(use(charge(LOG), 0))
        .isEqualTo(new KnownUse(0, List.of(), 0, List.of(new PastUnits(0, 3))));
    assertThat(past(0)).isEmpty();
    subject.learn(charge(LOG), verdict(LOG, 8, 1, 1).build(), 0, true, false, at(-1), at(1), table);
    assertThat(rules(charge(LOG), 1))
        .as("a verdict on a question asked before")
        .containsExactly(new RuleUse(8, 1, 1_000_000, 1_000_000, 0));
  }

  private static long at(double seconds) {
    return START + Math.round(seconds * SECOND);
  }

  private static Charge charge(Rule... rules) {
    return Charge.of("known", new Subject("test", "ada"), RuleStack.of(List.of(rules)));
  }

  private static Policy policy(Charge charge) {
    return new Policy("known", "known", List.of(charge.stack()), Optional.empty());
  }

  private static RuleVerdict rule(Rule rule, long remaining, long returns, long resets) {
    return RuleVerdict.of(rule)
        .remaining(remaining)
        .effectiveWindow(Duration.ofSeconds(returns))
        .resetAfter(Duration.ofSeconds(resets))
        .build();
  }

  private static Verdict.Builder verdict(Rule rule, long remaining, long returns, long resets) {
    return Verdict.of(policy(charge(rule)), Outcome.ALLOWED)
        .rules(List.of(rule(rule, remaining, returns, resets)));
  }

  private void learn(Charge charge, Verdict.Builder verdict, double seconds) {
    subject.learn(charge, verdict.build(), 0, true, false, at(seconds), at(seconds), table);
  }

  /** The store has admitted a call, and one unit is left. */
  private void take(Charge charge, double seconds) {
    Verdict verdict =
        Verdict.of(policy(charge), Outcome.ALLOWED)
            .rules(charge.stack().rules().stream().map(rule -> rule(rule, 1, 1, 1)).toList())
            .build();
    subject.learn(charge, verdict, 0, true, true, at(seconds), at(seconds), table);
  }

  private long own(Charge charge, double seconds) {
    subject.liftBan(); // news, so that it is adopted once more
    return rules(charge, seconds).get(0).ownUnits();
  }

  private KnownSubject.Pending admit(Charge charge, long used, double seconds) {
    return subject.admitted(charge, used, at(seconds), table);
  }

  /** The first is not too old within 16 s. */
  private void admitEightGroups() {
    for (int i = 0; i < 8; i++) {
      admit(charge(BUCKET), 100, 2.1 * i);
    }
  }

  private List<PastCharge> past(double seconds) {
    List<PastCharge> past = new ArrayList<>();
    subject.addPast(past, at(seconds), table);
    return past;
  }

  private static List<Integer> costs(List<PastCharge> past) {
    return past.stream().map(one -> one.charge().cost()).toList();
  }

  private KnownUse use(Charge charge, double seconds) {
    return subject.useIfNews(charge, at(seconds));
  }

  private List<RuleUse> rules(Charge charge, double seconds) {
    return use(charge, seconds).rules();
  }
}
