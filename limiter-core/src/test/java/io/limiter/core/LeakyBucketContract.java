// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;

/**
 * Leaky buckets: when calls depart, which are denied, and their retry-after; see {@link
 * LeaverContract}.
 */
public interface LeakyBucketContract extends StoreHarness {

  Duration HALF = Duration.ofMillis(500);

  static LeakyBucketRule twoASecond() {
    return LeakyBucketRule.of(2, SECOND, 10, SECOND.multipliedBy(10));
  }

  /** The wait of a call that is admitted. */
  default Duration wait(LimitRequest call) {
    Verdict verdict = acquire(call);
    assertThat(verdict.outcome()).isEqualTo(Outcome.ALLOWED);
    return verdict.delay();
  }

  @Test
  default void callsDepartOneIntervalAfterAnother() {
    LimitRequest call = call(twoASecond());
    for (int i = 0; i <= 10; i++) {
      assertThat(wait(call)).isEqualTo(HALF.multipliedBy(i));
    }
    advance(SECOND);
    assertThat(wait(call)).isEqualTo(HALF.multipliedBy(9));
    advance(MINUTE);
    assertThat(wait(call)).isZero();
    advance(HALF.minus(TICK));
    assertThat(wait(call)).isEqualTo(TICK);
  }

  @Test
  default void departuresDoNotDriftFromTheExactRate() {
    LimitRequest call = call(LeakyBucketRule.of(3, SECOND, 2, MINUTE));
    Instant start = now();
    for (long i = 0; i < 1_000; i++) {
      Duration delay = wait(call);
      assertThat(StoreHarness.micros(start, now().plus(delay))).isEqualTo((i * 1_000_000 + 2) / 3);
      advance(i % 7 == 0 ? delay : delay.dividedBy(2_000).multipliedBy(1_000));
      while (peek(call).delay().compareTo(HALF) > 0) {
        advance(Duration.ofMillis(100));
      }
    }
  }

  @Test
  default void aFullQueueDeniesAtOnceWithTheTimeOfTheNextFreePlace() {
    LimitRequest call = call(twoASecond());
    acquire(11, call);
    advance(Duration.ofMillis(123));
    for (int i = 0; i < 5; i++) {
      assertRetryAfterIsExact(call, i == 0 ? Duration.ofMillis(377) : HALF);
    }
    assertThat(acquire(call).delay()).isZero();
    assertRetryAfterIsExact(call.withCost(4), HALF.multipliedBy(4));
  }

  @Test
  default void aCallThatWouldWaitTooLongIsDeniedAtOnceWithARetryAfter() {
    LimitRequest call = call(LeakyBucketRule.of(2, SECOND, 100, Duration.ofMillis(1_200)));
    acquire(3, call);
    assertRetryAfterIsExact(call, Duration.ofMillis(300));
    assertThat(peek(call).rules().get(0).remaining()).isZero();
  }

  @Test
  default void aCallTakesADepartureForEachUnitAndBeginsAtTheFirst() {
    LimitRequest call = call(twoASecond());
    assertThat(wait(call.withCost(3))).isZero();
    assertThat(wait(call.withCost(2))).isEqualTo(HALF.multipliedBy(3));
    assertThat(wait(call)).isEqualTo(HALF.multipliedBy(5));
    assertThat(acquire(call.withCost(12)).retryAfter()).isEmpty();
    assertRetryAfterIsExact(call.withCost(11), HALF.multipliedBy(6));
  }

  @Test
  default void theVerdictHasTheFreePlacesAndTheTimeOfTheEmptyBucket() {
    LimitRequest call = call(twoASecond());
    RuleVerdict unused = peek(call).rules().get(0);
    assertThat(unused.remaining()).isEqualTo(11);
    assertThat(unused.effectiveWindow()).isEqualTo(HALF);
    assertThat(unused.resetAfter()).isZero();
    acquire(3, call);
    advance(Duration.ofMillis(200));
    RuleVerdict taken = acquire(call).rules().get(0);
    assertThat(taken.remaining()).isEqualTo(7);
    assertThat(taken.effectiveWindow()).isEqualTo(Duration.ofMillis(300));
    assertThat(taken.resetAfter()).isEqualTo(Duration.ofMillis(1_800));
  }

  @Test
  default void peekReturnsTheWaitAndTakesNothing() {
    LimitRequest call = call(twoASecond());
    acquire(2, call);
    var before = stored(call);
    assertThat(peek(call).delay()).isEqualTo(SECOND);
    assertThat(peek(call.withCost(11)).delay()).isZero(); // it would be denied
    assertThat(stored(call)).isEqualTo(before);
    assertThat(wait(call)).isEqualTo(SECOND);
  }

  @Test
  default void aRecordedCallTakesDeparturesAsFarAsThereIsRoomAndNeverWaits() {
    LimitRequest call = call(twoASecond());
    acquire(1, call);
    Verdict verdict = record(call.withCost(4));
    assertThat(verdict.delay()).isZero();
    assertThat(wait(call)).isEqualTo(HALF.multipliedBy(5));
    Verdict cut = record(call.withCost(100));
    assertThat(cut.allowed()).isTrue();
    assertThat(remaining(call)).isZero();
    assertRetryAfterIsExact(call, HALF);
    assertThat(refund(cut)).isEqualTo(5);
    acquire(5, call);
    assertLimited(call);
  }

  @Test
  default void aQueueContinuesWhereOnlyItsBoundsChange() {
    LimitRequest before = call(twoASecond());
    acquire(6, before);
    LimitRequest shorter = call(twoASecond().withQueue(3).withFair(false));
    assertRetryAfterIsExact(shorter, SECOND.plus(HALF));
    assertThat(wait(before)).isEqualTo(HALF.multipliedBy(4));
    assertThat(wait(call(LeakyBucketRule.of(4, SECOND, 10, MINUTE))))
        .isEqualTo(HALF.multipliedBy(5)); // another rate leaves the departures before it
  }

  @Test
  default void whereAnotherRuleDeniesNoDepartureIsTaken() {
    LimitRequest call = call(twoASecond(), rule(2, MINUTE), TokenBucketRule.of(9, 1, HOUR));
    acquire(2, call);
    var before = stored(call);
    assertThat(acquire(call).delay()).isZero();
    assertThat(acquire(call).outcome()).isEqualTo(Outcome.LIMITED);
    assertThat(stored(call)).isEqualTo(before);
  }

  @Test
  default void whereTheQueueIsFullNoOtherRuleCounts() {
    LimitRequest call = call(LeakyBucketRule.of(1, SECOND, 1, MINUTE), rule(5, MINUTE));
    acquire(2, call);
    var before = stored(call);
    assertLimited(call);
    assertThat(stored(call)).isEqualTo(before);
  }

  @Test
  default void forOtherRulesTheArrivalCounts() {
    LimitRequest call = call(LeakyBucketRule.of(1, MINUTE, 5, MINUTE), rule(2, SECOND));
    acquire(1, call);
    assertThat(wait(call)).isEqualTo(MINUTE);
    advance(SECOND);
    assertThat(peek(call).rules().get(1).remaining()).isEqualTo(2);
  }

  @Test
  default void anAbandonedCallGivesBackToEveryRule() {
    LimitRequest call = call(twoASecond(), rule(5, MINUTE), FixedWindowRule.of(6, MINUTE));
    acquire(1, call);
    advance(TICK);
    Verdict leaver = acquire(call.withCost(2));
    assertThat(refund(leaver)).isEqualTo(2);
    assertThat(peek(call).rules()).extracting(RuleVerdict::remaining).containsExactly(10L, 4L, 5L);
  }

  @Test
  default void aFullQueueBringsABanNearer() {
    Policy policy =
        Policy.of("policy", LeakyBucketRule.of(1, SECOND, 1, MINUTE))
            .withBan(BanRule.of(2, MINUTE, SECOND.multipliedBy(10)));
    LimitRequest call = LimitRequest.of(policy, new Subject("user", "somebody"));
    acquire(2, call);
    assertLimited(call);
    assertThat(acquire(call).outcome()).isEqualTo(Outcome.BANNED);
    advance(SECOND.multipliedBy(10).minus(TICK));
    assertThat(acquire(call).outcome()).isEqualTo(Outcome.BANNED);
    advance(TICK);
    assertThat(wait(call)).isZero();
  }

  @Test
  default void oneSubjectMayWaitWhereAnotherIsOnlyLimited() {
    LimitRequest waits = call("queue", twoASecond());
    LimitRequest both =
        waits.and(LimitRequest.of(Policy.of("each", rule(2, MINUTE)), new Subject("ip", "::1")));
    acquire(1, waits);
    assertThat(wait(both)).isEqualTo(HALF);
    Verdict leaver = acquire(both);
    assertThat(leaver.delay()).isEqualTo(SECOND);
    assertThat(acquire(both).outcome()).isEqualTo(Outcome.LIMITED);
    assertThat(wait(waits)).isEqualTo(HALF.multipliedBy(3));
    assertThat(refund(leaver)).isEqualTo(2);
    assertThat(wait(both)).isEqualTo(HALF.multipliedBy(4));
  }

  @Test
  default void anObservedCallDoesNotWait() {
    LimitRequest call = call(LeakyBucketRule.of(1, SECOND, 2, MINUTE));
    acquire(1, call);
    Verdict observed = acquire(call.observe());
    assertThat(observed.delay()).isZero();
    assertThat(observed.rules().get(0).remaining()).isEqualTo(1);
    assertThat(wait(call)).isEqualTo(SECOND.multipliedBy(2));
    assertThat(acquire(call.observe()).rules().get(0).violated()).isTrue();
    LimitRequest other = call("other", twoASecond());
    assertThat(acquire(call.observe().and(other)).delay()).isZero();
    assertThat(acquire(call.observe().and(other)).delay()).isEqualTo(HALF);
  }

  @Test
  default void aDepartureIsNotGivenBackByACallThatHasBegunAndCostLess() {
    LimitRequest call = call(twoASecond());
    acquire(1, call);
    Verdict verdict = acquire(call.withCost(4));
    advance(HALF);
    settle(verdict, Completion.succeeded().withCost(1));
    assertThat(wait(call)).isEqualTo(HALF.multipliedBy(4));
    Verdict more = acquire(call);
    settle(more, Completion.succeeded().withCost(3));
    assertThat(wait(call)).isEqualTo(HALF.multipliedBy(8));
  }
}
