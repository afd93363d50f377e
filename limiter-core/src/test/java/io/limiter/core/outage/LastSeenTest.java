// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.outage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.LimitStore.SeenUse;
import io.limiter.core.LimitStore.SeenUse.PastUnits;
import io.limiter.core.LimitStore.SeenUse.RuleUse;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The numbers that one instance keeps about one key, to the nanosecond. */
class LastSeenTest {

  private static final long SECOND = 1_000_000_000L;

  /** Where the clock starts: its zero has no meaning. */
  private static final long START = 1_000 * SECOND;

  private static final Rule LOG = SlidingWindowLogRule.of(100, Duration.ofSeconds(7));

  private static final Rule BUCKET = TokenBucketRule.of(100, 100, Duration.ofSeconds(8));

  private final LastSeen subject = new LastSeen();

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
        .containsExactly(new RuleUse(remaining, returning, 2_000_000, 5_000_000));
  }

  /** The store's clock orders verdicts; without it, when the store was asked. */
  @ParameterizedTest
  @CsvSource({
    // decided in us, and asked in s: the first, the second; both have arrived by 9 s
    "50, 51, 1, 0, true",
    "50, 50, 1, 0, true", // of one command, whose calls are decided in their order
    "50, 49, 0, 1, false",
    "0, 50, 0, 1, true",
    "0, 50, 1, 0, false",
    "50, 0, 1, 1, true",
    "50, 0, 1, 0, false",
    "50, 49, 0, 9.1, true", // the store's clock was set back
    "50, 49, 0, 9, false",
  })
  void theLastVerdictCounts(
      long decided1, long decided2, double asked1, double asked2, boolean second) {
    Charge charge = charge(LOG);
    Verdict first = verdict(LOG, 6, 2, 5).ban(Duration.ofSeconds(9)).build();
    subject.learn(charge, first, 0, decided1, at(asked1), at(9));
    assertThat(use(charge, 9).rules()).hasSize(1);

    subject.learn(charge, verdict(LOG, 8, 1, 3).build(), 0, decided2, at(asked2), at(10));

    SeenUse known = use(charge, 10);
    if (second) {
      assertThat(known)
          .isEqualTo(
              new SeenUse(0, List.of(new RuleUse(8, 1, 1_000_000, 3_000_000)), 0, List.of()));
    } else {
      assertThat(known).as("no news").isNull();
    }
  }

  @Test
  void allUnitsAreReportedAsOldAsTheLastOne() {
    Charge charge = charge(SlidingWindowCounterRule.of(100, Duration.ofSeconds(8)), LOG);
    admit(charge, 100, 0);
    admit(charge.withCost(2), 100, 7);

    assertThat(past(8))
        .extracting(one -> one.charge().cost(), PastCharge::age)
        .containsExactly(tuple(3, Duration.ofSeconds(1)));
  }

  @Test
  void whatAChargeMayNotCostAtOnceIsReportedNext() {
    Charge charge = charge(FixedWindowRule.of(Rule.MAX_COUNT, Duration.ofSeconds(8)));
    admit(charge.withCost(Charge.MAX_COST), Rule.MAX_COUNT, 0);
    admit(charge.withCost(Charge.MAX_COST), Rule.MAX_COUNT, 0);
    admit(charge.withCost(Charge.MAX_COST), Rule.MAX_COUNT, 0);

    for (int calls = 0; calls < 3; calls++) {
      assertThat(subject.sent(Charge.MAX_COST)).isTrue();
    }
    assertThat(since(0)).containsExactly(3L * Charge.MAX_COST, 3L * Charge.MAX_COST);
    assertThat(costs(past(0))).containsExactly(Charge.MAX_COST);
    assertThat(costs(past(0))).containsExactly(Charge.MAX_COST);
    assertThat(costs(past(0))).containsExactly(Charge.MAX_COST);
    assertThat(past(0)).isEmpty();
  }

  /** Units that have come back in the meantime are not reported. */
  @ParameterizedTest
  @CsvSource({"6, 5", "5, 5", "4, 4", "3, 3", "2, 3"})
  void noMoreIsReportedThanIsUsedOrTheLastCallCosts(long used, int reported) {
    admit(charge(BUCKET).withCost(2), 100, 0);
    admit(charge(BUCKET).withCost(3), used, 0);

    assertThat(costs(past(0))).containsExactly(reported);
  }

  @Test
  void unitsGivenBackAreNotReported() {
    LastSeen.Admitted units = admit(charge(LOG).withCost(5), 100, 0);
    use(charge(LOG), 0);

    units.giveBack(2);

    assertThat(use(charge(LOG), 0).since()).as("news").containsExactly(new PastUnits(0, 3));
    units.giveBack(4);
    assertThat(use(charge(LOG), 0).since()).isEmpty();
    assertThat(past(0)).isEmpty();
  }

  /** The store may have recorded them. Later ones are younger, and count for longer. */
  @Test
  void unitsThatWereSentAreNotGivenBack() {
    LastSeen.Admitted units = admit(charge(LOG).withCost(3), 100, 0);
    past(0);
    admit(charge(LOG), 100, 1);

    units.giveBack(1);
    subject.reported();
    subject.included(at(1));
    units.giveBack(1);

    assertThat(use(charge(LOG), 1).since()).containsExactly(new PastUnits(0, 1));
    assertThat(costs(past(1))).containsExactly(1);
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
    admit(charge(SlidingWindowCounterRule.of(100, Duration.ofSeconds(7))), 100, 0);

    assertThat(past(seconds)).hasSize(reported);
  }

  @Test
  void whatWasSentIsNotSentAgainAndCountsHereUntilAVerdictIncludesIt() {
    admit(charge(LOG).withCost(2), 100, 0);
    assertThat(costs(past(1))).containsExactly(2);
    assertThat(past(1)).isEmpty();
    admit(charge(LOG), 100, 1);

    subject.included(at(1));
    assertThat(since(1)).as("another connection was faster").containsExactly(3L);
    subject.reported();
    subject.included(at(1) - 1);
    assertThat(since(1)).as("asked before").containsExactly(3L);
    subject.included(at(1));
    assertThat(since(1)).containsExactly(1L);

    assertThat(costs(past(2))).containsExactly(1);
    subject.reported();
    subject.included(at(2));
    assertThat(since(2)).isEmpty();
  }

  private List<Long> since(double seconds) {
    subject.liftBan(); // news, so that it is adopted once more
    return use(charge(LOG), seconds).since().stream().map(PastUnits::units).toList();
  }

  @Test
  void whatWasRefusedIsSentWithTheNextCall() {
    admit(charge(LOG), 100, 0);
    PastCharge first = past(0).get(0); // may have arrived
    admit(charge(LOG).withCost(2), 100, 0);
    admit(charge(LOG).withCost(4), 100, 3);
    PastCharge second = past(3).get(0);
    assertThat(second.charge().cost()).isEqualTo(6);

    second.refused();
    second.refused();

    PastCharge third = past(3).get(0);
    assertThat(third.charge().cost()).isEqualTo(6);
    assertThat(past(3)).isEmpty();
    first.refused();
    third.refused();
    assertThat(costs(past(3))).containsExactly(7);
  }

  /** After a reset, or once they no longer count. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whatWasRefusedAndNoLongerCountsIsNotSent(boolean reset) {
    admit(charge(LOG), 100, 0);
    PastCharge refused = past(0).get(0);
    if (reset) {
      subject.forget();
    }
    refused.refused();

    assertThat(past(reset ? 1 : 7)).isEmpty();
    admit(charge(LOG), 100, 8);
    assertThat(costs(past(8))).containsExactly(1);
  }

  @ParameterizedTest
  @CsvSource({"5, 0, 5, false", "5, 0, 5.000000001, true", "2, 9, 9, false", "2, 9, 9.1, true"})
  void aVerdictIsKeptUntilItsRulesAndItsBanAreOver(
      long resets, long ban, double seconds, boolean forgotten) {
    Verdict.Builder verdict = verdict(LOG, 6, 2, resets);
    learn(charge(LOG), ban > 0 ? verdict.ban(Duration.ofSeconds(ban)) : verdict, 0);
    use(charge(LOG), 0);

    assertThat(subject.forgetIfExpired(at(seconds))).isEqualTo(forgotten);

    SeenUse known = use(charge(LOG), 0);
    if (forgotten) {
      assertThat(known).isEqualTo(new SeenUse(0, List.of(), 0, List.of()));
    } else {
      assertThat(known).isNull();
    }
  }

  @Test
  void callsUnderWayAreKept() {
    subject.sent(1);
    assertThat(subject.forgetIfExpired(at(100))).isFalse();

    subject.answered(1);
    assertThat(subject.forgetIfExpired(at(100))).isTrue();
  }

  @Test
  void unitsToReportAreKeptWhileTheyCount() {
    admit(charge(LOG), 100, 0);
    admit(charge(LOG), 100, 3);

    assertThat(subject.forgetIfExpired(at(9.9))).isFalse();
    assertThat(subject.forgetIfExpired(at(10))).isTrue();
    assertThat(past(0)).isEmpty();
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
    subject.learn(charge, verdict.build(), 0, 0, at(seconds), at(seconds));
  }

  private LastSeen.Admitted admit(Charge charge, long used, double seconds) {
    return subject.admitted(charge, used, at(seconds));
  }

  private List<PastCharge> past(double seconds) {
    return subject.report(at(seconds)).stream().toList();
  }

  private static List<Integer> costs(List<PastCharge> past) {
    return past.stream().map(one -> one.charge().cost()).toList();
  }

  private SeenUse use(Charge charge, double seconds) {
    return subject.useIfNews(charge, at(seconds));
  }

  private List<RuleUse> rules(Charge charge, double seconds) {
    return use(charge, seconds).rules();
  }
}
