// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.CustomRule;
import org.junit.jupiter.api.Test;

/** A custom algorithm, the {@link FadingCounter}, in Java and in Lua. */
public interface OwnAlgorithmContract extends StoreHarness {

  private static CustomRule fading(long count) {
    return CustomRule.of(new FadingCounter(), count, MINUTE, 2.0);
  }

  @Test
  default void anOwnAlgorithmDecides() {
    LimitRequest call = call(fading(10));
    for (int i = 9; i >= 0; i--) {
      assertThat(acquire(call).rules().get(0).remaining()).isEqualTo(i);
    }
    assertLimited(call);
    advance(MINUTE);
    assertThat(remaining(call)).isEqualTo(5); // half is forgiven, and half of that
    advance(MINUTE.minus(TICK));
    assertThat(remaining(call)).isEqualTo(5);
    advance(TICK);
    assertThat(remaining(call)).isEqualTo(10); // without calls: its memory is two windows
  }

  @Test
  default void aCustomAlgorithmReturnsTimes() {
    LimitRequest call = call(fading(10));
    RuleVerdict taken = acquire(call.withCost(9)).rules().get(0);
    assertThat(taken.effectiveWindow()).isEqualTo(MINUTE.multipliedBy(3)); // 9, 4, 2, 1
    assertThat(taken.resetAfter()).isEqualTo(MINUTE.multipliedBy(4)); // 9, 4, 2, 1, 0
    advance(SECOND);
    assertThat(acquire(call.withCost(11)).retryAfter()).isEmpty();
    RuleVerdict look = peek(call).rules().get(0);
    assertThat(look.effectiveWindow()).isEqualTo(MINUTE.minus(SECOND));
    assertThat(look.resetAfter()).isEqualTo(MINUTE.multipliedBy(4).minus(SECOND));
    assertRetryAfterIsExact(call.withCost(6), MINUTE.minus(SECOND));
  }

  @Test
  default void anOwnAlgorithmSeesItsParameters() {
    LimitRequest call = call(CustomRule.of(new FadingCounter(), 10, MINUTE, 5.0));
    acquire(10, call);
    advance(MINUTE);
    assertThat(remaining(call)).isEqualTo(8);
  }

  @Test
  default void anOwnAlgorithmIsDecidedWithTheOtherRules() {
    LimitRequest call = call(rule(2, SECOND), fading(3));
    acquire(2, call);
    assertThat(acquire(call).rules()).extracting(RuleVerdict::remaining).containsExactly(0L, 1L);
    advance(SECOND);
    assertAllowed(call);
    assertThat(acquire(call).violated())
        .extracting(r -> r.rule().name())
        .containsExactly("3-per-60s");
  }

  @Test
  default void aRecordNeverPutsAnOwnAlgorithmInDebt() {
    LimitRequest call = call(fading(10));
    Verdict verdict = record(call.withCost(100));
    assertThat(verdict.allowed()).isTrue();
    assertThat(verdict.rules().get(0).effectiveWindow()).isEqualTo(MINUTE);
    assertThat(verdict.rules().get(0).resetAfter()).isEqualTo(MINUTE.multipliedBy(4));
    assertRetryAfterIsExact(call.withCost(5), MINUTE);
  }

  @Test
  default void anOwnAlgorithmGivesNothingBack() {
    LimitRequest call = call(fading(10));
    assertThat(refund(acquire(call))).isZero();
    assertThat(remaining(call)).isEqualTo(9);
  }
}
