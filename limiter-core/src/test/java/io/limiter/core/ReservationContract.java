// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static io.limiter.core.StoreHarness.submit;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * No call is counted twice, and what is given back to which subject, also by the duplicate guard.
 */
public interface ReservationContract extends StoreHarness {

  @Test
  default void aRefundGivesBackOnceWhatTheCallTook() {
    LimitRequest call = call(rule(5, MINUTE), rule(6, HOUR));
    acquire(1, call);
    advance(SECOND);
    Verdict verdict = acquire(call.withCost(3));
    assertThat(verdict.rules()).extracting(RuleVerdict::remaining).containsExactly(1L, 2L);
    assertThat(refund(verdict)).isEqualTo(3);
    assertThat(peek(call).rules()).extracting(RuleVerdict::remaining).containsExactly(4L, 5L);
    assertThat(refund(verdict)).isZero();
    assertThat(peek(call).rules()).extracting(RuleVerdict::remaining).containsExactly(4L, 5L);
  }

  @Test
  default void aRefundLeavesWhatOthersTookBeforeAndAfter() {
    LimitRequest call = call(rule(3, MINUTE));
    acquire(1, call);
    advance(SECOND);
    Verdict second = acquire(call);
    advance(SECOND);
    acquire(1, call);
    assertThat(refund(second)).isEqualTo(1);
    assertThat(remaining(call)).isEqualTo(1);
    acquire(1, call);
    assertThat(acquire(call).retryAfter()).contains(MINUTE.minus(SECOND).minus(SECOND));
    advance(MINUTE.minus(SECOND).minus(SECOND));
    acquire(1, call);
    assertThat(acquire(call).retryAfter()).contains(SECOND.multipliedBy(2));
  }

  @ParameterizedTest
  @ValueSource(ints = {117, 118, 119, 120, 150})
  default void aRefundWorksAtAnyLength(int units) {
    LimitRequest call = call(rule(200, MINUTE));
    acquire(units - 1, call);
    advance(SECOND);
    Verdict last = acquire(call);
    advance(SECOND);
    assertThat(refund(last)).isEqualTo(1);
    assertThat(remaining(call)).isEqualTo(201 - units);
    acquire(201 - units, call);
    assertLimited(call);
  }

  /** Its process is dead, for example. */
  @Test
  default void aSubmissionThatNeverEndsCanBeReset() {
    LimitRequest call = submit("form", rule(3, HOUR));
    acquire(1, call);
    assertThat(acquire(call).outcome()).isEqualTo(Outcome.DUPLICATE);
    new Limiter(store()).reset(call).toCompletableFuture().join();
    assertThat(stored(call)).containsOnly(Optional.empty());
    assertAllowed(call);
    assertThat(acquire(call).outcome()).isEqualTo(Outcome.DUPLICATE);
  }

  @Test
  default void aRefundOfAllLeavesNoKey() {
    LimitRequest call = submit("form", rule(3, MINUTE));
    assertThat(refund(acquire(call))).isEqualTo(2);
    assertThat(stored(call)).containsOnly(Optional.empty());
  }

  static Stream<Rule> once() {
    return Stream.of(rule(1, MINUTE), FixedWindowRule.of(1, MINUTE));
  }

  @ParameterizedTest
  @MethodSource("once")
  default void aRefundAfterTheWindowGivesNothingToLaterCalls(Rule once) {
    LimitRequest call = call(once);
    Verdict early = acquire(call);
    advance(MINUTE);
    assertAllowed(call);
    assertThat(refund(early)).isZero();
    assertLimited(call);
  }

  @Test
  default void aDeniedCallHasNothingToGiveBack() {
    LimitRequest call = call(rule(1, MINUTE));
    assertAllowed(call);
    assertThat(refund(acquire(call))).isZero();
    assertLimited(call);
  }

  /** One of each algorithm that can give units back; of ten units each. */
  static Stream<Rule> returning() {
    return Stream.of(
        rule(10, HOUR),
        SlidingWindowCounterRule.of(10, HOUR),
        FixedWindowRule.of(10, HOUR),
        FixedWindowRule.aligned(10, Duration.ofDays(1), ZoneOffset.UTC),
        TokenBucketRule.of(10, 1, HOUR),
        TokenBucketRule.of(10, 1, HOUR).byInterval(),
        TokenBucketRule.of(10, 1, HOUR).startingWith(9),
        LeakyBucketRule.of(10, MINUTE, 9, MINUTE.multipliedBy(5)),
        LeakyBucketRule.of(10, MINUTE, 9, MINUTE.multipliedBy(5)).withFair(false));
  }

  /** A record takes the units that are left, and no more than these come back. */
  @ParameterizedTest
  @MethodSource("returning")
  default void aRefundOfARecordGivesBackItsUnits(Rule rule) {
    LimitRequest call = call(rule);
    acquire(1, call.withCost((int) remaining(call) - 2));
    Verdict recorded = record(call.withCost(5));
    assertLimited(call);
    assertThat(refund(recorded)).isEqualTo(2);
    acquire(2, call);
    assertLimited(call);
    assertThat(refund(recorded)).isZero();
    assertThat(refund(record(call.withCost(5)))).as("where there was no room").isZero();
    assertLimited(call);
  }

  @ParameterizedTest
  @MethodSource("returning")
  default void aSettlementOfARecordGivesBackItsUnitsAboveTheCost(Rule rule) {
    if (rule.waits()) {
      return; // a part of a departure cannot be given up
    }
    LimitRequest call = call(rule);
    acquire(1, call.withCost((int) remaining(call) - 2));
    assertThat(settle(record(call.withCost(5)), Completion.succeeded().withCost(2))).isZero();
    assertLimited(call);
    LimitRequest other = call("another", rule);
    acquire(1, other.withCost((int) remaining(other) - 2));
    assertThat(settle(record(other.withCost(5)), Completion.succeeded().withCost(1))).isEqualTo(1);
    acquire(1, other);
    assertLimited(other);
  }

  /** Each rule had another number of units left. */
  @Test
  default void aRefundOfARecordGivesEachRuleItsUnitsBack() {
    LimitRequest call =
        call(
            rule(10, HOUR).withName("log"),
            FixedWindowRule.of(9, HOUR).withName("window"),
            TokenBucketRule.of(12, 1, HOUR).withName("bucket"));
    acquire(1, call.withCost(8));
    Verdict recorded = record(call.withCost(3));
    assertThat(refund(recorded)).isEqualTo(3);
    assertThat(peek(call).rules()).extracting(RuleVerdict::remaining).containsExactly(2L, 1L, 4L);
  }

  /** Longer than a page, where a log is written in place. */
  @Test
  default void aRefundOfARecordInALongLogGivesBackItsUnits() {
    LimitRequest call = call(rule(400, HOUR), rule(1_000, MINUTE));
    for (int i = 0; i < 3; i++) {
      acquire(1, call.withCost(130));
      advance(TICK);
    }
    Verdict recorded = record(call.withCost(700));
    assertThat(refund(recorded)).isEqualTo(610); // the log keeps a thousand
    assertThat(remaining(call)).isEqualTo(10);
    LimitRequest other = call("another", rule(400, HOUR));
    acquire(1, other.withCost(390));
    advance(TICK);
    assertThat(refund(record(other.withCost(50)))).isEqualTo(10);
    assertThat(remaining(other)).isEqualTo(10);
  }

  @Test
  default void aDuplicateIsDeniedAndTakesNothing() {
    LimitRequest call = submit("form", rule(5, MINUTE));
    assertAllowed(call);
    advance(SECOND);
    Verdict again = acquire(call);
    assertThat(again.outcome()).isEqualTo(Outcome.DUPLICATE);
    assertThat(again.violated()).isEmpty();
    assertThat(again.retryAfter()).contains(MINUTE.minus(SECOND));
    assertThat(again.duplicate().orElseThrow().violated()).isTrue();
    assertThat(remaining(call)).isEqualTo(4);
    advance(MINUTE.minus(SECOND));
    assertAllowed(call);
  }

  @Test
  default void aLimitIsReportedBeforeADuplicate() {
    LimitRequest call = submit("form", rule(1, HOUR));
    assertAllowed(call);
    Verdict again = acquire(call);
    assertThat(again.outcome()).isEqualTo(Outcome.LIMITED);
    assertThat(again.duplicate().orElseThrow().violated()).isTrue();
    assertThat(again.retryAfter()).contains(HOUR);
  }

  @Test
  default void aDeniedSubmissionIsNotKept() {
    LimitRequest first = submit("first", rule(1, SECOND));
    LimitRequest second = submit("second", rule(1, SECOND));
    assertAllowed(first);
    assertLimited(second);
    advance(SECOND);
    assertAllowed(second);
  }

  @Test
  default void differentSubmissionsAreNoDuplicates() {
    for (String submission : new String[] {"a", "b", "ab", "a b", "", "r", "d", "A"}) {
      assertAllowed(submit(submission, rule(100, MINUTE)));
    }
    assertThat(acquire(submit("a", rule(100, MINUTE))).outcome()).isEqualTo(Outcome.DUPLICATE);
  }

  @Test
  default void aSubmissionCountsOnceWhateverItCosts() {
    LimitRequest call = submit("form", rule(9, MINUTE)).withCost(5);
    assertAllowed(call);
    assertThat(acquire(call.withCost(1)).outcome()).isEqualTo(Outcome.DUPLICATE);
  }

  @Test
  default void aReleaseFreesTheSubmissionAndKeepsTheUnits() {
    LimitRequest call = submit("form", rule(5, MINUTE));
    Verdict verdict = acquire(call);
    advance(SECOND);
    assertThat(release(verdict)).isEqualTo(1);
    assertThat(release(verdict)).isZero();
    assertThat(remaining(call)).isEqualTo(4);
    assertAllowed(call);
  }

  @Test
  default void aRefundAfterAReleaseGivesBackTheRestOnce() {
    LimitRequest call = submit("form", rule(5, MINUTE)).withCost(2);
    Verdict verdict = acquire(call);
    assertThat(release(verdict)).isEqualTo(1);
    assertThat(refund(verdict)).isEqualTo(2);
    assertThat(refund(verdict)).isZero();
    assertThat(release(verdict)).isZero();
    assertThat(remaining(call)).isEqualTo(5);
  }

  @Test
  default void aReleaseAfterARefundFreesNoOtherSubmission() {
    LimitRequest call = submit("form", rule(5, MINUTE));
    Verdict first = acquire(call);
    assertThat(refund(first)).isEqualTo(2);
    assertAllowed(call);
    assertThat(release(first)).isZero();
    assertThat(acquire(call).outcome()).isEqualTo(Outcome.DUPLICATE);
  }

  @Test
  default void aLateReleaseFreesNoLaterSubmission() {
    LimitRequest call = submit("form", rule(5, MINUTE));
    Verdict first = acquire(call);
    advance(MINUTE);
    assertAllowed(call);
    assertThat(release(first)).isZero();
    assertThat(acquire(call).outcome()).isEqualTo(Outcome.DUPLICATE);
  }

  private static LimitRequest claimed(Duration window, Duration claim) {
    RuleStack guard = RuleStack.of(List.of(rule(1, window))).withClaim(claim);
    return LimitRequest.of(
        new Policy("policy", "limit", List.of(), Optional.of(guard)), Subject.global());
  }

  default long hold(Verdict verdict, Duration time, boolean ended) {
    return verdict.reservation().hold(time, ended).toCompletableFuture().join();
  }

  /**
   * As long as it is renewed, whatever its window; then until the window since its begin is over.
   */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  default void aClaimedSubmissionIsHeldWhileItsCallRuns(boolean pastItsWindow) {
    LimitRequest call = claimed(MINUTE, SECOND.multipliedBy(20));
    Duration renewal = SECOND.multipliedBy(15);
    Verdict first = acquire(call);
    int renewals = pastItsWindow ? 6 : 3;
    for (int i = 0; i < renewals; i++) {
      advance(renewal);
      RuleVerdict guard = acquire(call).duplicate().orElseThrow();
      assertThat(guard.denies()).isTrue();
      assertThat(guard.remaining()).isZero();
      assertThat(guard.retryAfter().orElseThrow()).isBetween(TICK, MINUTE);
      assertThat(guard.resetAfter()).isBetween(TICK, MINUTE);
      assertThat(hold(first, SECOND.multipliedBy(20), false)).isEqualTo(1);
    }
    Duration rest = MINUTE.minus(renewal.multipliedBy(renewals));
    assertThat(hold(first, rest, true)).isEqualTo(1);
    if (!pastItsWindow) {
      assertThat(acquire(call).retryAfter()).contains(rest);
      assertThat(release(first)).isEqualTo(1);
    }
    assertThat(peek(call).duplicate().orElseThrow().remaining()).isEqualTo(1);
    Verdict second = acquire(call);
    assertThat(second.allowed()).isTrue();
    assertThat(hold(first, MINUTE, false)).isZero();
    assertThat(hold(first, Duration.ZERO, true)).isZero();
    assertThat(release(first)).isZero();
    assertThat(hold(second, MINUTE, false)).isEqualTo(1);
    assertThat(acquire(call).outcome()).isEqualTo(Outcome.DUPLICATE);
  }

  /** Its store does not know when its call ends. */
  @Test
  default void aSubmissionWithoutAClaimCountsInItsWindow() {
    LimitRequest call = submit("form", rule(5, MINUTE));
    Verdict first = acquire(call);
    assertThat(hold(first, HOUR, false)).isEqualTo(1);
    advance(MINUTE);
    assertAllowed(call);
  }

  @Test
  default void aGuardWithoutRulesGuards() {
    Policy policy =
        new Policy(
            "policy", "limit", List.of(), Optional.of(RuleStack.of(List.of(rule(2, MINUTE)))));
    LimitRequest call = LimitRequest.of(policy, Subject.global());
    acquire(2, call);
    Verdict third = acquire(call);
    assertThat(third.outcome()).isEqualTo(Outcome.DUPLICATE);
    assertThat(third.rules()).isEmpty();
  }
}
