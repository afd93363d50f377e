// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.TokenBucketRule;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The actual cost of a call whose cost was only estimated when it began. */
public interface SettledCostContract extends StoreHarness {

  @Test
  default void aLowerActualCostIsGivenBack() {
    LimitRequest call = call(rule(100, MINUTE), FixedWindowRule.of(80, HOUR)).withCost(50);
    Verdict verdict = acquire(call);
    advance(SECOND);
    assertThat(settle(verdict, Completion.succeeded().withCost(20))).isEqualTo(30);
    assertThat(peek(call).rules()).extracting(RuleVerdict::remaining).containsExactly(80L, 60L);
  }

  @Test
  default void aHigherActualCostIsRecordedEvenAboveTheLimit() {
    LimitRequest call = call(rule(100, MINUTE), FixedWindowRule.of(80, HOUR)).withCost(50);
    Verdict verdict = acquire(call);
    advance(SECOND);
    assertThat(settle(verdict, Completion.failed().withCost(90))).isZero();
    assertThat(peek(call).rules()).extracting(RuleVerdict::remaining).containsExactly(10L, 0L);
    assertLimited(call.withCost(11));
    advance(HOUR);
    assertThat(peek(call).rules()).extracting(RuleVerdict::remaining).containsExactly(100L, 80L);
  }

  @Test
  default void anExactEstimateChangesNothing() {
    LimitRequest call = call(rule(100, MINUTE)).withCost(50);
    assertThat(settle(acquire(call), Completion.succeeded().withCost(50))).isZero();
    assertThat(remaining(call)).isEqualTo(50);
  }

  @Test
  default void aCallThatHasCostNothingGivesAllBack() {
    LimitRequest call = call(rule(100, MINUTE)).withCost(50);
    assertThat(settle(acquire(call), Completion.succeeded().withCost(0))).isEqualTo(50);
    assertThat(stored(call)).containsOnly(Optional.empty());
  }

  @Test
  default void aCallThatDoesNotCountGivesBackAllUnitsWhateverItCost() {
    LimitRequest call = OutcomeContract.counting(Counting.FAILURES, rule(100, MINUTE)).withCost(50);
    assertThat(settle(acquire(call), Completion.succeeded().withCost(70))).isEqualTo(50);
    assertThat(settle(acquire(call), Completion.failed().withCost(70))).isZero();
    assertThat(remaining(call)).isEqualTo(30);
  }

  /**
   * As if the call had cost 7 from the start: of 10 tokens, 5 are back, and 2 are missing, plus
   * one.
   */
  @Test
  default void tokensThatCameBackInTheMeantimeAreThoseOfTheCall() {
    for (TokenBucketRule bucket :
        new TokenBucketRule[] {
          TokenBucketRule.of(10, 1, SECOND), TokenBucketRule.of(10, 1, SECOND).byInterval()
        }) {
      LimitRequest call =
          LimitRequest.of(Policy.of("bucket-" + bucket.greedy(), bucket), Subject.global())
              .withCost(10);
      Verdict verdict = acquire(call);
      advance(SECOND.multipliedBy(5));
      assertAllowed(call.withCost(1));
      assertThat(remaining(call)).isEqualTo(4);
      assertThat(settle(verdict, Completion.succeeded().withCost(7))).isEqualTo(3);
      assertThat(remaining(call)).as("%s", bucket).isEqualTo(7);
    }
  }

  @Test
  default void eachChargeMayHaveCostSomethingElse() {
    LimitRequest calls = call("caller", rule(10, MINUTE));
    LimitRequest rows = call("rows", rule(1_000, MINUTE)).withCost(100);
    LimitRequest both = calls.and(rows);
    Completion completion =
        Completion.succeeded().withCosts(charge -> charge.cost() == 1 ? charge.cost() : 250);
    assertThat(settle(acquire(both), completion)).isZero();
    assertThat(peek(both).rules()).extracting(RuleVerdict::remaining).containsExactly(9L, 750L);
  }

  @Test
  default void aCallInFlightCountsOnceWhateverItCosts() {
    LimitRequest call =
        call("rows", rule(1_000, MINUTE))
            .and(call("flight", ConcurrencyLimitRule.of(2)))
            .withCost(100);
    Verdict verdict = acquire(call);
    assertThat(verdict.rules()).extracting(RuleVerdict::remaining).containsExactly(900L, 1L);
    assertThat(settle(verdict, Completion.succeeded().withCost(300))).isEqualTo(1);
    assertThat(peek(call).rules()).extracting(RuleVerdict::remaining).containsExactly(700L, 2L);
  }
}
