// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.SlidingWindowLogRule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** How much is admitted, and the contents of the verdict. */
public interface SlidingWindowContract extends StoreHarness {

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 10, 117, 118, 119, 120, 500, 2_000})
  default void admitsExactlyCount(int count) {
    LimitRequest call = call(rule(count, MINUTE));
    for (int i = 1; i <= count; i++) {
      Verdict verdict = acquire(call);
      assertThat(verdict.allowed()).isTrue();
      assertThat(verdict.rules().get(0).remaining()).isEqualTo(count - i);
    }
    assertLimited(call);
    advance(MINUTE.minus(TICK));
    assertLimited(call);
    advance(TICK);
    acquire(count, call);
    assertLimited(call);
  }

  @Test
  default void noWindowAnywhereHoldsMoreThanCount() {
    LimitRequest call = call(rule(7, SECOND));
    Random random = new Random(7);
    List<Long> admitted = new ArrayList<>();
    long now = 0;
    for (int i = 0; i < 2_000; i++) {
      long step = random.nextInt(200_000);
      advance(TICK.multipliedBy(step));
      now += step;
      if (acquire(call).allowed()) {
        admitted.add(now);
      }
    }
    assertThat(admitted).hasSizeGreaterThan(1_000);
    for (int i = 7; i < admitted.size(); i++) {
      assertThat(admitted.get(i) - admitted.get(i - 7)).isGreaterThanOrEqualTo(1_000_000);
    }
  }

  @Test
  default void unitsComeBackOneByOneAsTheyWereTaken() {
    LimitRequest call = call(rule(3, MINUTE));
    for (int i = 0; i < 3; i++) {
      assertAllowed(call);
      advance(SECOND);
    }
    assertLimited(call);
    advance(Duration.ofSeconds(57));
    for (int i = 0; i < 3; i++) {
      assertThat(remaining(call)).isEqualTo(1);
      assertAllowed(call);
      assertLimited(call);
      advance(SECOND);
    }
  }

  @Test
  default void retryAfterOfOneRuleIsExactToTheMicrosecond() {
    LimitRequest call = call(rule(2, MINUTE));
    assertAllowed(call);
    advance(Duration.ofMillis(1_234));
    assertAllowed(call);
    advance(Duration.ofNanos(5_678_000));
    assertRetryAfterIsExact(call, Duration.ofNanos(58_760_322_000L));
  }

  @Test
  default void retryAfterOfAStackIsTheLongestOfTheViolatedRules() {
    LimitRequest call = call(rule(2, SECOND), rule(3, MINUTE), rule(4, HOUR));
    acquire(2, call);
    assertRetryAfterIsExact(call, SECOND);
    advance(SECOND);
    assertRetryAfterIsExact(call, MINUTE.minus(SECOND).minus(SECOND));
    assertRetryAfterIsExact(call, HOUR.minus(MINUTE));
  }

  @Test
  default void aCostAboveTheCountNeverPasses() {
    LimitRequest call = call(rule(5, MINUTE), rule(100, HOUR)).withCost(6);
    for (int i = 0; i < 3; i++) {
      Verdict verdict = acquire(call);
      assertThat(verdict.outcome()).isEqualTo(Outcome.LIMITED);
      assertThat(verdict.retryAfter()).isEmpty();
      assertThat(verdict.rules().get(0).retryAfter()).isEmpty();
      assertThat(verdict.rules()).extracting(RuleVerdict::violated).containsExactly(true, false);
      advance(HOUR);
    }
    assertThat(acquire(call.withCost(5)).rules().get(0).remaining()).isZero();
  }

  @Test
  default void remainingCanStillBeTakenAtOnce() {
    LimitRequest call = call(rule(20, MINUTE), rule(12, HOUR));
    Verdict verdict = acquire(call.withCost(5));
    assertThat(verdict.rules()).extracting(RuleVerdict::remaining).containsExactly(15L, 7L);
    acquire(7, call);
    Verdict denied = acquire(call);
    assertThat(denied.rules()).extracting(RuleVerdict::remaining).containsExactly(8L, 0L);
    assertThat(denied.violated()).extracting(r -> r.rule().name()).containsExactly("12-per-3600s");
  }

  @Test
  default void theVerdictHasTheTimeOfReturningUnitsAndOfFullReplenishment() {
    LimitRequest call = call(rule(10, MINUTE));
    assertAllowed(call);
    advance(SECOND.multipliedBy(40));
    Verdict verdict = acquire(call);
    assertThat(verdict.rules())
        .containsExactly(
            RuleVerdict.of(call.policy().rules().get(0))
                .remaining(8)
                .taken(1)
                .resetAfter(MINUTE)
                .effectiveWindow(SECOND.multipliedBy(20))
                .build());
    advance(SECOND.multipliedBy(15));
    assertThat(peek(call).rules().get(0).resetAfter()).isEqualTo(SECOND.multipliedBy(45));
    advance(HOUR);
    assertThat(peek(call).rules().get(0).resetAfter()).isEqualTo(Duration.ZERO);
    assertThat(peek(call).rules().get(0).effectiveWindow()).isEqualTo(MINUTE);
  }

  @Test
  default void rulesAreReportedInTheOrderOfThePolicy() {
    LimitRequest call = call(rule(5, SECOND), rule(6, HOUR), rule(7, MINUTE), rule(8, HOUR));
    assertThat(acquire(call).rules())
        .extracting(r -> r.rule().count(), RuleVerdict::remaining)
        .containsExactly(tuple(5), tuple(6), tuple(7), tuple(8));
  }

  private static org.assertj.core.groups.Tuple tuple(long count) {
    return org.assertj.core.api.Assertions.tuple(count, count - 1);
  }

  @Test
  default void theShortestAndTheLongestWindowAreExact() {
    for (Duration window :
        List.of(SlidingWindowLogRule.MIN_WINDOW, SlidingWindowLogRule.MAX_WINDOW)) {
      LimitRequest call = call(window.toString(), rule(1, window));
      assertAllowed(call);
      assertRetryAfterIsExact(call, window);
    }
  }
}
