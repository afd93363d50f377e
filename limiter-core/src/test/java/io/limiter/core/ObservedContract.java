// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static io.limiter.core.StoreHarness.submit;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.TokenBucketRule;
import org.junit.jupiter.api.Test;

/** Charges that are observed, not enforced. */
public interface ObservedContract extends StoreHarness {

  @Test
  default void anObservedRuleDeniesNoCallAndReportsItsVerdict() {
    LimitRequest call = call(rule(2, MINUTE)).observe();
    acquire(2, call);
    advance(SECOND);
    Verdict third = acquire(call);
    assertThat(third.outcome()).isEqualTo(Outcome.ALLOWED);
    assertThat(third.violated()).isEmpty();
    assertThat(third.retryAfter()).isEmpty();
    RuleVerdict ruleVerdict = third.rules().get(0);
    assertThat(ruleVerdict.violated()).isTrue();
    assertThat(ruleVerdict.observed()).isTrue();
    assertThat(ruleVerdict.remaining()).isZero();
    assertThat(ruleVerdict.retryAfter()).contains(MINUTE.minus(SECOND));
  }

  @Test
  default void anObservedViolationTakesNothingAsIfItWereEnforced() {
    LimitRequest call = call(rule(2, MINUTE), FixedWindowRule.of(3, HOUR)).observe();
    acquire(5, call);
    assertThat(peek(call).rules()).extracting(RuleVerdict::remaining).containsExactly(0L, 1L);
    advance(MINUTE);
    assertThat(acquire(call).rules()).extracting(RuleVerdict::violated).containsOnly(false);
    assertThat(acquire(call).rules())
        .extracting(RuleVerdict::violated)
        .containsExactly(false, true);
    assertThat(peek(call).rules()).extracting(RuleVerdict::remaining).containsExactly(1L, 0L);
  }

  @Test
  default void aCallDeniedByAnotherRuleTakesNothingFromAnObservedRule() {
    LimitRequest observed = call("observed", rule(2, MINUTE)).observe();
    LimitRequest enforced = call("enforced", rule(1, MINUTE));
    assertAllowed(enforced.and(observed));
    Verdict denied = acquire(enforced.and(observed));
    assertThat(denied.outcome()).isEqualTo(Outcome.LIMITED);
    assertThat(denied.violated()).extracting(RuleVerdict::observed).containsExactly(false);
    assertThat(remaining(observed)).isEqualTo(1);
  }

  @Test
  default void enforcedAndObservedChargesAreOneDecision() {
    LimitRequest observed = call("observed", rule(1, HOUR)).observe();
    LimitRequest enforced = call("enforced", rule(3, MINUTE));
    acquire(3, observed.and(enforced));
    Verdict denied = acquire(observed.and(enforced));
    assertThat(denied.outcome()).isEqualTo(Outcome.LIMITED);
    assertThat(denied.rules()).extracting(RuleVerdict::violated).containsExactly(true, true);
    assertThat(denied.retryAfter()).contains(MINUTE);
  }

  @Test
  default void peekReturnsTheSame() {
    LimitRequest call = call(rule(1, MINUTE)).observe();
    assertAllowed(call);
    assertThat(peek(call).outcome()).isEqualTo(Outcome.ALLOWED);
    assertThat(peek(call).rules().get(0).violated()).isTrue();
  }

  @Test
  default void itsUnitsCountFromTheMomentItIsEnforced() {
    LimitRequest call = call(rule(2, MINUTE));
    acquire(2, call.observe());
    assertLimited(call);
  }

  @Test
  default void onlyUnitsThatItTookAreGivenBack() {
    LimitRequest call = call(rule(1, MINUTE));
    assertAllowed(call);
    Verdict observed = acquire(call.observe()); // at the same microsecond
    assertThat(observed.allowed()).isTrue();
    assertThat(settle(observed, Completion.succeeded().withCost(0))).isZero();
    assertThat(refund(observed)).isZero();
    assertLimited(call);
  }

  @Test
  default void onlyUnitsThatItTookAreHeldAndRecorded() {
    LimitRequest flight = call("flight", ConcurrencyLimitRule.of(1));
    LimitRequest rows = call("rows", rule(5, MINUTE)).withCost(5);
    LimitRequest both = flight.and(rows).observe();
    Verdict first = acquire(both);
    Verdict second = acquire(both);
    assertThat(first.reservation().permitDuration())
        .contains(ConcurrencyLimitRule.DEFAULT_PERMIT_DURATION);
    assertThat(second.reservation().permitDuration()).isEmpty();
    assertThat(renew(second)).isZero();
    assertThat(settle(second, Completion.succeeded().withCost(9))).isZero();
    assertThat(settle(first, Completion.succeeded().withCost(3))).isEqualTo(3);
    assertThat(peek(both).rules()).extracting(RuleVerdict::remaining).containsExactly(1L, 2L);
  }

  @Test
  default void anObservedBanNeitherDeniesNorCounts() {
    Policy banning = Policy.of("policy", rule(1, MINUTE)).withBan(BanRule.of(2, MINUTE, HOUR));
    LimitRequest call = LimitRequest.of(banning, new Subject("user", "somebody"));
    LimitRequest observed = call.observe();
    acquire(5, observed);
    assertThat(acquire(call).outcome()).isEqualTo(Outcome.LIMITED);
    assertThat(acquire(call).outcome()).isEqualTo(Outcome.BANNED);
    Verdict during = acquire(observed);
    assertThat(during.outcome()).isEqualTo(Outcome.ALLOWED);
    assertThat(during.ban()).isEmpty();
    advance(MINUTE);
    assertThat(acquire(observed).rules().get(0).violated()).isFalse();
    assertThat(acquire(call).outcome()).isEqualTo(Outcome.BANNED);
  }

  /**
   * Its departures are handed out all the same, so that its verdict shows how long the queue would
   * be.
   */
  @Test
  default void anObservedRuleMakesNoCallWait() {
    LimitRequest call = call(LeakyBucketRule.of(1, MINUTE, 2, HOUR.dividedBy(12)));
    acquire(2, call.observe());
    Verdict third = acquire(call.observe());
    assertThat(third.allowed()).isTrue();
    assertThat(third.delay()).isZero();
    assertThat(acquire(call.observe()).rules().get(0).violated()).isTrue();
    assertLimited(call);
    advance(MINUTE);
    assertThat(acquire(call).delay()).isEqualTo(MINUTE.multipliedBy(2));
  }

  @Test
  default void anObservedDuplicateIsAccepted() {
    LimitRequest call = submit("form", rule(5, MINUTE)).observe();
    Verdict first = acquire(call);
    advance(SECOND);
    Verdict again = acquire(call);
    assertThat(again.outcome()).isEqualTo(Outcome.ALLOWED);
    assertThat(again.duplicate().orElseThrow().violated()).isTrue();
    assertThat(release(again)).isZero();
    assertThat(release(first)).isEqualTo(1);
    assertThat(remaining(call)).isEqualTo(3);
  }

  @Test
  default void timeContinuesForObservedRules() {
    LimitRequest call = call(rule(1, MINUTE)).observe();
    assertAllowed(call);
    advance(HOUR.negated());
    assertThat(acquire(call).rules().get(0).violated()).isTrue();
    advance(MINUTE);
    assertThat(acquire(call).rules().get(0).violated()).isFalse();

    LimitRequest empty = call("bucket", TokenBucketRule.of(2, 1, SECOND).startingWith(0)).observe();
    assertThat(acquire(empty).rules().get(0).violated()).isTrue();
    advance(SECOND);
    assertThat(acquire(empty).rules().get(0).violated()).isFalse();
  }

  @Test
  default void aRecordCountsWhetherOrNotItIsObserved() {
    LimitRequest call = call(rule(3, MINUTE));
    record(call.observe().withCost(3));
    assertLimited(call);
  }
}
