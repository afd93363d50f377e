// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.call;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.Rule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Token buckets, filled one by one or at the end of each interval. */
public interface TokenBucketContract extends StoreHarness {

  @Test
  default void aBucketAdmitsABurstAndThenOneCallForEachToken() {
    LimitRequest call = call(TokenBucketRule.of(20, 5, SECOND));
    acquire(20, call);
    for (int i = 0; i < 10; i++) {
      assertRetryAfterIsExact(call, Duration.ofMillis(200));
    }
    advance(SECOND.multipliedBy(2));
    assertThat(remaining(call)).isEqualTo(10);
    advance(HOUR);
    assertThat(remaining(call)).isEqualTo(20);
  }

  /** Nine parts a token: a token more would be 2^53 parts. */
  @Test
  default void theLargestCountIsCountedExactlyByParts() {
    TokenBucketRule rule =
        TokenBucketRule.of(Rule.MAX_COUNT, 1_000_000_000, Duration.ofMillis(9)).startingWith(3);
    LimitRequest call = call(rule);
    assertAllowed(call.withCost(2));
    assertThat(remaining(call)).isEqualTo(1);
    assertRetryAfterIsExact(call.withCost(100_001), TICK); // 111,111 1/9 in each microsecond
    assertThat(remaining(call)).isEqualTo(11_111);
    Duration whole = acquire(call.withCost(Charge.MAX_COST)).retryAfter().orElseThrow();
    advance(whole);
    assertAllowed(call.withCost(Charge.MAX_COST));
    assertThat(peek(call).rules().get(0).resetAfter())
        .isBetween(HOUR.multipliedBy(2), HOUR.multipliedBy(3));
    advance(HOUR.multipliedBy(3));
    assertThat(remaining(call)).isEqualTo(Rule.MAX_COUNT);
  }

  @Test
  default void theLargestCountOfABucketByIntervalsIsCountedExactly() {
    TokenBucketRule rule =
        TokenBucketRule.of(Rule.MAX_COUNT, 200_000_000_000L, HOUR).byInterval().startingWith(3);
    LimitRequest call = call(rule);
    assertAllowed(call.withCost(2));
    assertRetryAfterIsExact(call.withCost(Charge.MAX_COST), HOUR);
    assertThat(remaining(call)).isEqualTo(199_000_000_001L);
    advance(HOUR.multipliedBy(4_998));
    assertThat(remaining(call)).isEqualTo(999_799_000_000_001L);
    advance(HOUR.multipliedBy(2));
    assertThat(remaining(call)).isEqualTo(Rule.MAX_COUNT);
  }

  @Test
  default void aBucketLosesNothingByRounding() {
    LimitRequest call = call(TokenBucketRule.of(1, 7, SECOND)); // a token in 142,857 1/7 µs
    Instant start = now();
    assertAllowed(call);
    for (int i = 0; i < 50; i++) {
      advance(acquire(call).retryAfter().orElseThrow().minus(TICK));
      assertLimited(call);
      advance(TICK);
      assertAllowed(call);
      advance(Duration.ofMillis(3));
    }
    // Each but the first came at the microsecond in which its token was whole.
    assertThat(StoreHarness.micros(start, now())).isBetween(7_142_857L, 7_142_857L + 50 + 3_000);
  }

  @Test
  default void noIntervalHoldsMoreThanTheCapacityAndTheRefill() {
    LimitRequest call = call(TokenBucketRule.of(5, 3, SECOND));
    Random random = new Random(7);
    List<Instant> admitted = new ArrayList<>();
    for (int i = 0; i < 600; i++) {
      advance(TICK.multipliedBy(random.nextInt(10) == 0 ? 2_000_000 : random.nextInt(400_000)));
      if (acquire(call).allowed()) {
        admitted.add(now());
      }
    }
    assertThat(admitted).hasSizeGreaterThan(300);
    for (int from = 0; from < admitted.size(); from++) {
      for (int to = from; to < admitted.size(); to++) {
        long micros = StoreHarness.micros(admitted.get(from), admitted.get(to));
        assertThat(to - from + 1L).isLessThanOrEqualTo(5 + 3 * micros / 1_000_000);
      }
    }
  }

  @Test
  default void theVerdictOfABucketHasTheTimeOfTheNextTokenAndOfTheFullBucket() {
    LimitRequest call = call(TokenBucketRule.of(10, 1, SECOND));
    assertThat(peek(call).rules().get(0).resetAfter()).isZero();
    assertThat(peek(call).rules().get(0).effectiveWindow()).isEqualTo(SECOND);
    acquire(call.withCost(4));
    advance(Duration.ofMillis(300));
    RuleVerdict taken = acquire(call).rules().get(0);
    assertThat(taken.remaining()).isEqualTo(5);
    assertThat(taken.resetAfter()).isEqualTo(Duration.ofMillis(4_700));
    assertThat(taken.effectiveWindow()).isEqualTo(Duration.ofMillis(700));
  }

  @Test
  default void byIntervalAllTokensComeBackAtItsEnd() {
    LimitRequest call = call(TokenBucketRule.of(10, 4, MINUTE).byInterval());
    advance(SECOND.multipliedBy(7)); // intervals begin with the first call
    acquire(10, call);
    advance(SECOND);
    assertRetryAfterIsExact(call, SECOND.multipliedBy(59));
    assertThat(remaining(call)).isEqualTo(3);
    advance(SECOND);
    assertRetryAfterIsExact(call.withCost(8), MINUTE.multipliedBy(2).minus(SECOND));
    assertThat(acquire(call.withCost(11)).retryAfter()).isEmpty();
    assertThat(peek(call).rules().get(0).resetAfter()).isEqualTo(MINUTE.multipliedBy(2));
  }

  @Test
  default void anIntervalBeginsWithTheCallThatFindsTheBucketFull() {
    LimitRequest call = call(TokenBucketRule.of(4, 4, MINUTE).byInterval());
    assertAllowed(call);
    advance(SECOND.multipliedBy(90));
    acquire(4, call);
    assertRetryAfterIsExact(call, MINUTE);
  }

  @Test
  default void aNewSubjectHasTheInitialTokens() {
    LimitRequest call = call(TokenBucketRule.of(10, 1, SECOND).startingWith(3));
    acquire(3, call);
    assertRetryAfterIsExact(call, SECOND);
    advance(SECOND.multipliedBy(10));
    assertThat(remaining(call)).isEqualTo(10);
    advance(HOUR.minus(SECOND.multipliedBy(10)));
    assertThat(remaining(call)).isEqualTo(10);
  }

  @Test
  default void aSubjectWithTooFewInitialTokensGetsMoreFromItsFirstDeniedCallOn() {
    Rule[] rules = {
      TokenBucketRule.of(4, 1, SECOND).startingWith(0),
      TokenBucketRule.of(6, 2, MINUTE).byInterval().startingWith(1)
    };
    LimitRequest drops = call("drop", rules[0]);
    assertThat(peek(drops).retryAfter()).contains(SECOND);
    advance(SECOND); // peeking starts nothing
    assertRetryAfterIsExact(drops, SECOND);
    LimitRequest floods = call("flood", rules[1]).withCost(4);
    assertRetryAfterIsExact(floods, MINUTE.multipliedBy(2));
  }

  private static Rule shortAtFirst(int initial) {
    return TokenBucketRule.of(4 + initial, 1, SECOND).startingWith(initial);
  }

  @Test
  default void timeStartsForEachRuleOnceItIsShortOfInitialTokens() {
    LimitRequest call = call(shortAtFirst(0), shortAtFirst(2));
    assertRetryAfterIsExact(call, SECOND);
    List<Long> remaining = peek(call).rules().stream().map(RuleVerdict::remaining).toList();
    assertThat(remaining).containsExactly(0L, 1L); // the second bucket has gained none by waiting
  }

  @Test
  default void timeStartsForASecondRuleAtALaterDeniedCall() {
    LimitRequest call = call(shortAtFirst(0), shortAtFirst(2));
    assertLimited(call);
    assertLimited(call.withCost(3)); // of which the second bucket is short, too
    advance(SECOND);
    List<Long> remaining = peek(call).rules().stream().map(RuleVerdict::remaining).toList();
    assertThat(remaining).containsExactly(1L, 3L);
  }

  @Test
  default void aRecordNeverPutsABucketInDebt() {
    LimitRequest call = call(TokenBucketRule.of(5, 1, SECOND));
    Verdict verdict = record(call.withCost(100));
    assertThat(verdict.allowed()).isTrue();
    assertThat(verdict.rules().get(0).effectiveWindow()).isEqualTo(SECOND);
    assertRetryAfterIsExact(call, SECOND);
  }

  @Test
  default void unitsThatHaveComeBackAreNotGivenBackTwice() {
    LimitRequest call = call(TokenBucketRule.of(10, 1, SECOND));
    Verdict first = acquire(call.withCost(5));
    advance(SECOND.multipliedBy(2));
    assertThat(acquire(call).rules().get(0).remaining()).isEqualTo(6);
    assertThat(refund(first)).isEqualTo(5);
    assertThat(remaining(call)).isEqualTo(9);
    Verdict late = acquire(call);
    advance(SECOND.multipliedBy(5));
    acquire(1, call);
    assertThat(refund(late)).isZero();
    assertThat(remaining(call)).isEqualTo(9);
  }

  @Test
  default void tokensReturnedByAnIntervalAreNotGivenBackTwice() {
    LimitRequest call = call(TokenBucketRule.of(10, 2, SECOND).byInterval());
    Verdict first = acquire(call.withCost(5));
    advance(SECOND);
    assertThat(acquire(call).rules().get(0).remaining()).isEqualTo(6);
    assertThat(refund(first)).isEqualTo(5);
    assertThat(remaining(call)).isEqualTo(9);
  }

  /** Missing tokens stay missing, but a subject never owes more than a bucket. */
  @Test
  default void theCapacityMayChange() {
    LimitRequest large = call(TokenBucketRule.of(10, 1, SECOND));
    LimitRequest larger = call(TokenBucketRule.of(12, 1, SECOND));
    LimitRequest small = call(TokenBucketRule.of(3, 1, SECOND));
    acquire(8, large);
    assertThat(remaining(larger)).isEqualTo(4);
    assertThat(remaining(small)).isZero();
    assertRetryAfterIsExact(small, SECOND);
    LimitRequest many = call("other", TokenBucketRule.of(10, 2, SECOND).byInterval());
    acquire(10, many);
    assertRetryAfterIsExact(
        call("other", TokenBucketRule.of(3, 2, SECOND).byInterval()).withCost(2), SECOND);
  }
}
