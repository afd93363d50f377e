// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.TokenBucketRule;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Which completions count, and that units reserved for a call are never granted twice. */
public interface OutcomeContract extends StoreHarness {

  static LimitRequest counting(Counting counting, Rule... rules) {
    return LimitRequest.of(
        Policy.of("policy", rules).withCounting(counting), new Subject("user", "somebody"));
  }

  /** A call that is admitted and ends with this completion. */
  default void end(LimitRequest call, Completion completion) {
    Verdict verdict = acquire(call);
    assertThat(verdict.allowed()).isTrue();
    advance(SECOND);
    settle(verdict, completion);
  }

  @ParameterizedTest
  @EnumSource(Counting.class)
  default void noMoreParallelCallsBeginThanTheRuleAllows(Counting counting) {
    assertThat(together(100, counting(counting, rule(3, MINUTE))))
        .filteredOn(Verdict::allowed)
        .hasSize(3);
  }

  @Test
  default void whereFailuresCountASuccessGivesItsUnitBack() {
    LimitRequest call = counting(Counting.FAILURES, rule(3, MINUTE));
    for (int i = 0; i < 10; i++) {
      end(call, Completion.succeeded());
    }
    assertThat(remaining(call)).isEqualTo(3);
    assertThat(stored(call)).containsOnly(Optional.empty());
  }

  @Test
  default void whereFailuresCountAFailureKeepsItsUnitUntilItsWindowEnds() {
    LimitRequest call = counting(Counting.FAILURES, rule(3, MINUTE));
    for (int i = 0; i < 3; i++) {
      end(call, Completion.failed());
    }
    assertRetryAfterIsExact(call, MINUTE.minus(SECOND.multipliedBy(3)));
  }

  @Test
  default void whereSuccessesCountAFailureGivesItsUnitBack() {
    LimitRequest call = counting(Counting.SUCCESSES, rule(2, MINUTE));
    for (int i = 0; i < 10; i++) {
      end(call, Completion.failed());
    }
    end(call, Completion.succeeded());
    end(call, Completion.succeeded());
    assertLimited(call);
  }

  @ParameterizedTest
  @EnumSource(Counting.class)
  default void anUnknownCompletionCounts(Counting counting) {
    LimitRequest call = counting(counting, rule(1, MINUTE));
    end(call, Completion.unknown());
    assertLimited(call);
  }

  @Test
  default void whereAllCallsCountNoCompletionGivesAnythingBack() {
    LimitRequest call = call(rule(2, MINUTE));
    end(call, Completion.succeeded());
    end(call, Completion.failed());
    assertLimited(call);
  }

  @Test
  default void aCallThatIsNeverSettledCountsForOneWindow() {
    LimitRequest call = counting(Counting.FAILURES, rule(1, MINUTE));
    Verdict lost = acquire(call);
    advance(MINUTE.minus(TICK));
    assertLimited(call);
    advance(TICK);
    assertAllowed(call);
    assertThat(settle(lost, Completion.succeeded())).isZero();
    assertLimited(call);
  }

  @Test
  default void aSecondSettlementGivesNothingBack() {
    LimitRequest call = counting(Counting.FAILURES, rule(2, MINUTE));
    Verdict first = acquire(call);
    assertThat(settle(first, Completion.failed())).isZero();
    assertThat(settle(first, Completion.succeeded())).isZero();
    assertThat(remaining(call)).isEqualTo(1);
  }

  @Test
  default void everyAlgorithmCountsByOutcome() {
    for (Rule rule :
        List.of(
            SlidingWindowCounterRule.of(2, HOUR),
            FixedWindowRule.of(2, HOUR),
            TokenBucketRule.of(2, 1, HOUR),
            TokenBucketRule.of(2, 1, HOUR).byInterval())) {
      LimitRequest call =
          LimitRequest.of(
              Policy.of(rule.getClass().getSimpleName() + rule.name(), rule)
                  .withCounting(Counting.FAILURES),
              Subject.global());
      Verdict good = acquire(call);
      Verdict bad = acquire(call);
      assertThat(acquire(call).allowed()).as("a third under %s", rule).isFalse();
      assertThat(settle(good, Completion.succeeded())).as("%s", rule).isEqualTo(1);
      settle(bad, Completion.failed());
      assertThat(remaining(call)).as("%s", rule).isEqualTo(1);
    }
  }

  /**
   * One limit key, three classes of calls, calls in flight and a submission: one decision, one
   * settlement.
   */
  @Test
  default void eachClassOfCallsOfOneLimitIsCountedByItself() {
    Subject subject = new Subject("user", "somebody");
    Policy all = Policy.of("all", rule(9, HOUR)).withDuplicates(rule(1, HOUR));
    LimitRequest call = LimitRequest.of(all, subject);
    for (Counting counting : List.of(Counting.FAILURES, Counting.SUCCESSES)) {
      RuleStack stack = RuleStack.of(List.of(rule(5, HOUR), FixedWindowRule.of(4, HOUR)));
      Policy policy =
          new Policy("all", "all", List.of(stack.withCounting(counting)), Optional.empty());
      call = call.and(LimitRequest.of(policy, subject));
    }
    call = call.and(LimitRequest.of(Policy.of("all", ConcurrencyLimitRule.of(2)), subject));
    assertThat(call.charges()).extracting(charge -> charge.key().name()).doesNotHaveDuplicates();
    assertThat(call.charges())
        .extracting(charge -> charge.key().tag())
        .containsOnly(call.charge(0).key().tag());

    Verdict verdict = acquire(call);
    assertThat(verdict.allowed()).isTrue();
    assertThat(settle(verdict, Completion.failed())).isEqualTo(2);
    assertThat(peek(call).rules())
        .extracting(RuleVerdict::remaining)
        .containsExactly(8L, 4L, 3L, 5L, 4L, 2L);
    assertThat(acquire(call).outcome()).isEqualTo(Outcome.DUPLICATE);
    assertThat(release(verdict)).isEqualTo(1);
    assertThat(refund(verdict)).isZero();
    assertAllowed(call);

    new Limiter(store()).reset(call).toCompletableFuture().join();
    assertThat(stored(call)).containsOnly(Optional.empty());
  }

  @Test
  default void aDeniedCallHoldsUnitsOfNoClass() {
    Subject subject = new Subject("user", "somebody");
    LimitRequest failures = counting(Counting.FAILURES, rule(1, MINUTE));
    LimitRequest inFlight =
        LimitRequest.of(Policy.of("in-flight", ConcurrencyLimitRule.of(1)), subject);
    assertAllowed(inFlight);
    Verdict denied = acquire(failures.and(inFlight));
    assertThat(denied.outcome()).isEqualTo(Outcome.LIMITED);
    assertThat(stored(failures)).containsOnly(Optional.empty());
    assertThat(settle(denied, Completion.failed())).isZero();
    assertThat(remaining(failures)).isEqualTo(1);
  }

  @Test
  default void ifOtherRulesDenyTooTheirRetryAfterIsReturned() {
    LimitRequest call =
        call("somebody", rule(1, MINUTE)).and(call("somebody else", ConcurrencyLimitRule.of(1)));
    assertAllowed(call);
    advance(SECOND);
    Verdict denied = acquire(call);
    assertThat(denied.violated()).hasSize(2);
    assertThat(denied.retryAfter()).contains(MINUTE.minus(SECOND));
  }
}
