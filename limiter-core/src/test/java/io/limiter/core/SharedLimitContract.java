// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Subjects do not share state; policies that share a limit key, rules that change, and a clock that
 * is set.
 */
public interface SharedLimitContract extends StoreHarness {

  @Test
  default void subjectsKindsAndLimitsAreKeptApart() {
    Rule one = rule(1, MINUTE);
    List<LimitRequest> calls =
        List.of(
            LimitRequest.of(Policy.of("a", one), new Subject("user", "x")),
            LimitRequest.of(Policy.of("a", one), new Subject("user", "y")),
            LimitRequest.of(Policy.of("a", one), new Subject("ip", "x")),
            LimitRequest.of(Policy.of("b", one), new Subject("user", "x")),
            LimitRequest.of(Policy.of("a", one), Subject.global()));
    calls.forEach(this::assertAllowed);
    calls.forEach(this::assertLimited);
  }

  @Test
  default void severalKeysOfOneCallAreEachCharged() {
    LimitRequest user = call("user", rule(2, MINUTE));
    LimitRequest address = call("address", rule(3, MINUTE));
    LimitRequest both = user.and(address);
    Verdict verdict = acquire(both.withCost(2));
    assertThat(verdict.rules()).extracting(RuleVerdict::remaining).containsExactly(0L, 1L);
    assertLimited(both);
    assertLimited(user);
    assertAllowed(address);
    assertThat(refund(verdict)).isEqualTo(4);
    assertThat(remaining(user)).isEqualTo(2);
    assertThat(remaining(address)).isEqualTo(2);
  }

  @Test
  default void policiesOfOneLimitCountTheSameCalls() {
    LimitRequest loose = sharing(rule(10, MINUTE));
    LimitRequest strict = sharing(rule(3, MINUTE));
    acquire(2, loose);
    acquire(1, strict);
    assertLimited(strict);
    assertThat(remaining(loose)).isEqualTo(7);
  }

  @Test
  default void aLargerRuleFindsNoMoreUnitsThanWereKept() {
    LimitRequest small = sharing(rule(200, MINUTE));
    acquire(200, small);
    for (int i = 0; i < 10; i++) {
      advance(TICK);
      record(small);
    }
    assertThat(remaining(sharing(rule(300, MINUTE)))).isEqualTo(100);
  }

  @ParameterizedTest
  @ValueSource(ints = {10, 150})
  default void aLoweredCountDeniesUntilEnoughUnitsHaveLeft(int count) {
    LimitRequest before = sharing(rule(count, MINUTE));
    LimitRequest after = sharing(rule(count - 4, MINUTE));
    for (int i = 0; i < count; i++) {
      assertAllowed(before);
      advance(TICK);
    }
    advance(SECOND);
    Verdict denied = acquire(after);
    assertThat(denied.rules().get(0).remaining()).isZero();
    Duration wait = denied.retryAfter().orElseThrow();
    advance(wait.minus(TICK));
    assertLimited(after);
    advance(TICK);
    assertAllowed(after);
    assertLimited(after);
  }

  @ParameterizedTest
  @ValueSource(ints = {10, 150})
  default void aRaisedCountAdmitsAtOnce(int count) {
    LimitRequest before = sharing(rule(count, MINUTE), rule(1_000, HOUR));
    LimitRequest after = sharing(rule(count + 2, MINUTE), rule(1_000, HOUR));
    acquire(count, before);
    assertLimited(before);
    acquire(2, after);
    assertLimited(after);
  }

  @Test
  default void aClockSetBackDeniesForOneWindowAtMost() {
    LimitRequest call = call(rule(3, MINUTE), rule(100, HOUR));
    acquire(3, call);
    advance(HOUR.negated());
    Verdict denied = acquire(call);
    assertThat(denied.retryAfter()).contains(MINUTE);
    advance(MINUTE.minus(TICK));
    assertLimited(call);
    advance(TICK);
    acquire(3, call);
    assertLimited(call);
  }

  @Test
  default void aClockSetBackAgainAndAgainAdmitsNoMore() {
    LimitRequest call = call(rule(3, MINUTE));
    acquire(3, call);
    for (int i = 0; i < 10; i++) {
      advance(MINUTE.negated());
      assertLimited(call);
      advance(SECOND.multipliedBy(5));
      assertLimited(call);
    }
    advance(SECOND.multipliedBy(55).minus(TICK));
    assertLimited(call);
    advance(TICK);
    acquire(3, call);
  }

  @Test
  default void peekDoesNotWriteTheShiftOfAClockSetBack() {
    LimitRequest call = call(rule(3, MINUTE));
    acquire(2, call);
    List<Optional<String>> before = stored(call);
    advance(HOUR.negated());
    assertThat(peek(call).rules().get(0).resetAfter()).isEqualTo(MINUTE);
    assertThat(stored(call)).isEqualTo(before);
  }

  private static LimitRequest sharing(Rule... rules) {
    Policy policy =
        new Policy(
            "policy of " + rules.length,
            "one limit",
            List.of(RuleStack.of(List.of(rules))),
            Optional.empty());
    return LimitRequest.of(policy, new Subject("user", "somebody"));
  }
}
