// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.call;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The fixed window that begins with a call. */
public interface FixedWindowContract extends StoreHarness {

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 10, 500})
  default void aFixedWindowAdmitsExactlyCount(long count) {
    LimitRequest call = call(FixedWindowRule.of(count, MINUTE));
    for (long i = count - 1; i >= 0; i--) {
      assertThat(acquire(call).rules().get(0).remaining()).isEqualTo(i);
      advance(TICK);
    }
    assertLimited(call);
  }

  @Test
  default void theLargestCountIsCountedExactly() {
    LimitRequest call = call(FixedWindowRule.of(Rule.MAX_COUNT, MINUTE));
    assertThat(acquire(call.withCost(999_999_999)).rules().get(0).remaining())
        .isEqualTo(999_999_000_000_000L);
    Verdict largest = acquire(call.withCost(Charge.MAX_COST));
    assertAllowed(call);
    assertThat(remaining(call)).isEqualTo(999_997_999_999_999L);
    assertThat(refund(largest)).isEqualTo(Charge.MAX_COST);
    assertThat(remaining(call)).isEqualTo(999_998_999_999_999L);
  }

  @Test
  default void aWindowBeginsWithTheFirstCallAfterTheLastOne() {
    LimitRequest call = call(FixedWindowRule.of(2, MINUTE));
    advance(SECOND.multipliedBy(17));
    assertAllowed(call);
    advance(SECOND.multipliedBy(50));
    assertAllowed(call);
    assertRetryAfterIsExact(call, SECOND.multipliedBy(10));
    advance(HOUR);
    assertAllowed(call);
    assertThat(peek(call).rules().get(0).resetAfter()).isEqualTo(MINUTE);
  }

  @Test
  default void bothSidesOfAnEndMayHoldTheCount() {
    LimitRequest call = call(FixedWindowRule.of(3, MINUTE));
    assertAllowed(call);
    advance(MINUTE.minus(TICK));
    acquire(2, call);
    assertLimited(call);
    advance(TICK);
    acquire(3, call);
    assertLimited(call);
  }

  @Test
  default void noWindowHoldsMoreThanTheCount() {
    LimitRequest call = call(FixedWindowRule.of(7, SECOND));
    Random random = new Random(7);
    List<Instant> admitted = new ArrayList<>();
    for (int i = 0; i < 2_000; i++) {
      advance(TICK.multipliedBy(random.nextInt(200_000)));
      if (acquire(call).allowed()) {
        admitted.add(now());
      }
    }
    assertThat(admitted).hasSizeGreaterThan(1_000);
    Instant begin = Instant.MIN;
    int inWindow = 0;
    for (Instant one : admitted) {
      if (begin == Instant.MIN || !one.isBefore(begin.plus(SECOND))) {
        begin = one;
        inWindow = 0;
      }
      assertThat(++inWindow).isLessThanOrEqualTo(7);
    }
  }

  @Test
  default void aWindowWhoseUnitsAreAllGivenBackNeverBegan() {
    LimitRequest call = call(FixedWindowRule.of(2, MINUTE));
    Verdict only = acquire(call);
    advance(SECOND.multipliedBy(40));
    assertThat(refund(only)).isEqualTo(1);
    assertThat(refund(only)).isZero();
    Verdict first = acquire(call);
    assertThat(first.rules().get(0).resetAfter()).isEqualTo(MINUTE);
    assertAllowed(call);
    assertThat(refund(first)).isEqualTo(1);
    assertThat(remaining(call)).isEqualTo(1);
  }

  @Test
  default void aRecordNeverPutsAWindowInDebt() {
    LimitRequest call = call(FixedWindowRule.of(5, MINUTE));
    Verdict verdict = record(call.withCost(100));
    assertThat(verdict.allowed()).isTrue();
    assertThat(verdict.rules().get(0).remaining()).isZero();
    assertThat(verdict.rules().get(0).effectiveWindow()).isEqualTo(MINUTE);
    advance(MINUTE);
    assertThat(remaining(call)).isEqualTo(5);
  }
}
