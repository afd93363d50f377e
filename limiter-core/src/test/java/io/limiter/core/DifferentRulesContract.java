// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Methods that share a limit key may have different rules, and the rules of a policy may change:
 * the log and the cells continue beside each other.
 */
public interface DifferentRulesContract extends StoreHarness {

  private static LimitRequest logged() {
    return call(rule(200, HOUR));
  }

  private static LimitRequest counted() {
    return call(window(200));
  }

  private static LimitRequest both() {
    return call(rule(200, HOUR), window(200));
  }

  private static Rule window(long count) {
    return FixedWindowRule.of(count, HOUR).withName("window");
  }

  private void assertRemaining(LimitRequest call, Long... units) {
    assertThat(peek(call).rules()).extracting(RuleVerdict::remaining).containsExactly(units);
  }

  /** Each shape of rules has a state of its own. */
  @ParameterizedTest
  @ValueSource(ints = {3, 150})
  default void rulesOfAnotherShapeLeaveTheStateAlone(int units) {
    acquire(1, logged().withCost(units));
    acquire(2, counted());
    acquire(1, both());
    assertRemaining(logged(), 200L - units);
    assertRemaining(counted(), 198L);
    assertRemaining(both(), 199L, 199L);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 150})
  default void aDeniedCallOfOneKindChangesNothing(int units) {
    LimitRequest full = call(rule(200, HOUR), window(units));
    acquire(1, full.withCost(units));
    List<Optional<String>> before = stored(full);
    assertLimited(full);
    assertLimited(call(rule(units, HOUR), window(200)));
    assertThat(stored(full)).isEqualTo(before);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 150})
  default void violationsAreCountedBesideALogThatStaysAsItIs(int units) {
    Policy policy = Policy.of("policy", rule(units, HOUR)).withBan(BanRule.of(3, MINUTE, HOUR));
    LimitRequest banning = LimitRequest.of(policy, new Subject("user", "somebody"));
    acquire(1, call(rule(units, HOUR)).withCost(units)); // without a ban, and so without its state
    for (int i = 0; i < 2; i++) {
      assertLimited(banning);
    }
    assertThat(acquire(banning).ban()).contains(HOUR);
    advance(HOUR.minus(TICK));
    assertThat(acquire(banning).outcome()).isEqualTo(Outcome.BANNED);
    advance(TICK);
    assertAllowed(banning.withCost(units));
  }

  @Test
  default void aRefundOfTheLastUnitsOfALogLeavesTheNumbers() {
    Verdict mixed = acquire(both());
    assertThat(refund(mixed)).isEqualTo(1);
    assertRemaining(both(), 200L, 200L);
    acquire(1, both());
    assertRemaining(both(), 199L, 199L);
  }

  @Test
  default void partOfAMixedCallIsGivenBackToAllItsRules() {
    Verdict verdict = acquire(both().withCost(5));
    assertThat(settle(verdict, Completion.succeeded().withCost(2))).isEqualTo(3);
    assertRemaining(both(), 198L, 198L);
  }

  /** Each continues from what it wrote last, and neither denies for longer than its window. */
  @Test
  default void aClockSetBackIsMadeGoodForBothKinds() {
    LimitRequest two = call(rule(2, MINUTE), FixedWindowRule.of(3, MINUTE));
    acquire(2, two);
    advance(HOUR.negated());
    assertRetryAfterIsExact(two, MINUTE);
    advance(HOUR.negated());
    assertRemaining(two, 1L, 2L);
    acquire(1, two);
    assertRetryAfterIsExact(two, MINUTE);
  }

  @Test
  default void permitsAreKeptBesideMixedRulesAndAreRenewed() {
    LimitRequest held = both().and(call(ConcurrencyLimitRule.of(1, MINUTE)));
    Verdict running = acquire(held);
    advance(MINUTE.minus(TICK));
    assertThat(renew(running)).isEqualTo(1);
    advance(MINUTE.minus(TICK));
    assertLimited(held);
    assertThat(refund(running)).isEqualTo(2);
    assertAllowed(held);
    assertRemaining(both(), 199L, 199L);
  }
}
