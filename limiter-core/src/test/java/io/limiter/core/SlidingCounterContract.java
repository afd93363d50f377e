// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.call;
import static java.time.temporal.ChronoUnit.MICROS;
import static java.util.concurrent.TimeUnit.MICROSECONDS;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The sliding window counter: which units it assumes to be still inside, and the error bound. */
public interface SlidingCounterContract extends StoreHarness {

  /** Moves the clock to the start of a window. */
  private void beginWindow(Duration window) {
    long past =
        Math.floorMod(StoreHarness.micros(Instant.EPOCH, now()), MICROSECONDS.convert(window));
    advance(window.minus(Duration.of(past, MICROS)));
  }

  @Test
  default void withinOneWindowTheCounterAdmitsExactlyCount() {
    LimitRequest call = call(SlidingWindowCounterRule.of(10, MINUTE));
    beginWindow(MINUTE);
    for (int i = 9; i >= 0; i--) {
      assertThat(acquire(call).rules().get(0).remaining()).isEqualTo(i);
      advance(SECOND);
    }
    assertLimited(call);
  }

  @Test
  default void unitsOfThePreviousWindowCountInProportionToItsRemainder() {
    LimitRequest call = call(SlidingWindowCounterRule.of(10, MINUTE));
    beginWindow(MINUTE);
    acquire(10, call);
    advance(MINUTE);
    assertThat(remaining(call)).isZero();
    advance(SECOND.multipliedBy(6)); // a tenth has gone
    assertThat(remaining(call)).isEqualTo(1);
    advance(SECOND.multipliedBy(24));
    assertThat(remaining(call)).isEqualTo(5);
    acquire(3, call);
    assertThat(remaining(call)).isEqualTo(2);
    advance(SECOND.multipliedBy(30)); // now the three are the previous ones
    assertThat(remaining(call)).isEqualTo(7);
    advance(MINUTE);
    assertThat(remaining(call)).isEqualTo(10);
  }

  /** Its weight is computed in doubles: beyond 2^53 it is rounded, by less than a unit. */
  @Test
  default void theLargestCountOfACounterIsExactToAUnit() {
    Duration year = Duration.ofDays(366);
    LimitRequest call = call(SlidingWindowCounterRule.of(Rule.MAX_COUNT, year));
    beginWindow(year);
    acquire(7, call.withCost(999_999_937));
    assertThat(remaining(call)).isEqualTo(Rule.MAX_COUNT - 6_999_999_559L);
    advance(year.plus(Duration.ofDays(61))); // a sixth has gone, and 5,833,332,965.8 count
    assertThat(remaining(call)).isEqualTo(Rule.MAX_COUNT - 5_833_332_966L);
    advance(TICK);
    assertThat(remaining(call)).isBetween(Rule.MAX_COUNT - 5_833_332_966L, Rule.MAX_COUNT);
  }

  @Test
  default void retryAfterOfACounterIsExact() {
    LimitRequest call = call(SlidingWindowCounterRule.of(10, MINUTE));
    beginWindow(MINUTE);
    acquire(10, call);
    advance(SECOND);
    // Until the end of this window, and until a tenth of the next has gone.
    assertRetryAfterIsExact(call, SECOND.multipliedBy(59 + 6));
    assertRetryAfterIsExact(call.withCost(3), SECOND.multipliedBy(3 * 6));
    assertThat(acquire(call.withCost(11)).retryAfter()).isEmpty();
  }

  @Test
  default void noWindowAnywhereHoldsTwiceTheCountOfACounter() {
    LimitRequest call = call(SlidingWindowCounterRule.of(7, SECOND));
    Random random = new Random(7);
    List<Instant> admitted = new ArrayList<>();
    for (int i = 0; i < 2_000; i++) {
      advance(TICK.multipliedBy(random.nextInt(3) == 0 ? 900_000 : random.nextInt(20_000)));
      if (acquire(call).allowed()) {
        admitted.add(now());
      }
    }
    assertThat(admitted).hasSizeGreaterThan(1_000);
    for (int i = 13; i < admitted.size(); i++) {
      assertThat(Duration.between(admitted.get(i - 13), admitted.get(i)))
          .isGreaterThanOrEqualTo(SECOND);
    }
  }

  /** The bound is reached: all units of one window come at its end, and so do those of the next. */
  @Test
  default void aCounterMayAdmitTwiceTheCountLessOneInAWindow() {
    LimitRequest call = call(SlidingWindowCounterRule.of(7, SECOND));
    beginWindow(SECOND);
    advance(SECOND.minus(TICK));
    Instant first = now();
    acquire(7, call);
    advance(SECOND.minus(TICK));
    acquire(6, call);
    assertLimited(call);
    assertThat(Duration.between(first, now())).isLessThan(SECOND);
  }

  @Test
  default void theVerdictOfACounterHasTheTimeOfReturningUnitsAndOfFullReplenishment() {
    LimitRequest call = call(SlidingWindowCounterRule.of(10, MINUTE));
    beginWindow(MINUTE);
    assertThat(peek(call).rules().get(0).resetAfter()).isZero();
    assertThat(peek(call).rules().get(0).effectiveWindow()).isEqualTo(MINUTE);
    advance(SECOND.multipliedBy(20));
    RuleVerdict taken = acquire(call.withCost(4)).rules().get(0);
    assertThat(taken.resetAfter()).isEqualTo(SECOND.multipliedBy(100));
    assertThat(taken.effectiveWindow()).isEqualTo(SECOND.multipliedBy(40 + 15));
    advance(SECOND.multipliedBy(99));
    assertThat(peek(call).rules().get(0).resetAfter()).isEqualTo(SECOND);
    advance(SECOND);
    assertThat(peek(call).rules().get(0).resetAfter()).isZero();
  }

  @Test
  default void aRefundIsTakenFromTheWindowOfItsCall() {
    LimitRequest call = call(SlidingWindowCounterRule.of(10, MINUTE));
    beginWindow(MINUTE);
    Verdict first = acquire(call.withCost(4));
    advance(MINUTE);
    Verdict second = acquire(call.withCost(3));
    assertThat(remaining(call)).isEqualTo(3);
    assertThat(refund(second)).isEqualTo(3);
    assertThat(remaining(call)).isEqualTo(6);
    assertThat(refund(first)).isEqualTo(4);
    assertThat(remaining(call)).isEqualTo(10);
    Verdict third = acquire(call.withCost(2));
    advance(MINUTE.multipliedBy(2));
    acquire(1, call);
    assertThat(refund(third)).isZero();
    assertThat(remaining(call)).isEqualTo(9);
  }
}
