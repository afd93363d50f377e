// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.RuleStack;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls in flight: which calls hold a permit, for how long, and when it is free again. */
public interface InFlightContract extends StoreHarness {

  Duration PERMIT_DURATION = ConcurrencyLimitRule.DEFAULT_PERMIT_DURATION;
  Duration THIRD = PERMIT_DURATION.dividedBy(3);

  static LimitRequest inFlight(long count) {
    return call(ConcurrencyLimitRule.of(count));
  }

  @Test
  default void parallelCallsAreAdmittedExactlyUpToTheCount() {
    List<Verdict> verdicts = together(100, inFlight(3));
    assertThat(verdicts).filteredOn(Verdict::allowed).hasSize(3);
    assertThat(verdicts).filteredOn(verdict -> !verdict.allowed()).hasSize(97);
  }

  @Test
  default void aConcurrencyLimitReturnsNoRetryAfter() {
    LimitRequest call = inFlight(2);
    assertThat(peek(call).rules().get(0).resetAfter()).isZero();
    acquire(2, call);
    advance(SECOND);
    Verdict third = acquire(call);
    assertThat(third.outcome()).isEqualTo(Outcome.LIMITED);
    assertThat(third.retryAfter()).isEmpty();
    assertThat(third.tooCostly()).isFalse();
    RuleVerdict ruleVerdict = third.violated().get(0);
    assertThat(ruleVerdict.rule().name()).isEqualTo("2-in-flight");
    assertThat(ruleVerdict.remaining()).isZero();
    assertThat(ruleVerdict.effectiveWindow()).isEqualTo(PERMIT_DURATION);
    assertThat(ruleVerdict.resetAfter()).isEqualTo(PERMIT_DURATION);
  }

  @Test
  default void aCallOfMoreUnitsThanThereAreIsTooCostly() {
    Charge charge =
        Charge.of("limit", Subject.global(), RuleStack.of(List.of(ConcurrencyLimitRule.of(2))))
            .withCost(3);
    Verdict verdict =
        acquire(new LimitRequest(inFlight(1).policy(), List.of(charge), Optional.empty()));
    assertThat(verdict.outcome()).isEqualTo(Outcome.LIMITED);
    assertThat(verdict.tooCostly()).isTrue();
  }

  @Test
  default void anyCompletionFreesThePermitAtOnce() {
    LimitRequest call = inFlight(1);
    for (Completion completion :
        List.of(Completion.succeeded(), Completion.failed(), Completion.unknown())) {
      Verdict verdict = acquire(call);
      assertThat(verdict.allowed()).as("before %s", completion).isTrue();
      assertLimited(call);
      advance(SECOND);
      assertThat(settle(verdict, completion)).isEqualTo(1);
    }
    assertThat(stored(call)).containsOnly(Optional.empty());
  }

  @Test
  default void aSecondSettlementFreesNoOtherCall() {
    LimitRequest call = inFlight(1);
    Verdict first = acquire(call);
    assertThat(settle(first, Completion.succeeded())).isEqualTo(1);
    assertAllowed(call); // at the same microsecond
    assertThat(settle(first, Completion.failed())).isZero();
    assertThat(refund(first)).isZero();
    assertThat(renew(first)).isZero();
    assertLimited(call);
  }

  @Test
  default void aRefundFreesThePlaceToo() {
    LimitRequest call = inFlight(1);
    Verdict first = acquire(call);
    assertThat(refund(first)).isEqualTo(1);
    assertThat(settle(first, Completion.succeeded())).isZero();
    assertAllowed(call);
  }

  @Test
  default void aPermitThatIsNotRenewedExpiresOnTimeAndNotBefore() {
    LimitRequest call = inFlight(1);
    Verdict lost = acquire(call);
    assertThat(lost.reservation().permitDuration()).contains(PERMIT_DURATION);
    advance(PERMIT_DURATION.minus(TICK));
    assertLimited(call);
    advance(TICK);
    assertAllowed(call);
    assertThat(settle(lost, Completion.succeeded())).isZero();
    assertLimited(call);
  }

  @Test
  default void aRenewedCallHoldsItsPlaceAsLongAsItRuns() {
    LimitRequest call = inFlight(1);
    Verdict running = acquire(call);
    for (int i = 0; i < 10; i++) {
      advance(THIRD);
      assertThat(renew(running)).isEqualTo(1);
      assertLimited(call);
    }
    advance(PERMIT_DURATION.minus(TICK));
    assertLimited(call);
    assertThat(settle(running, Completion.succeeded())).isEqualTo(1);
    assertAllowed(call);
  }

  @Test
  default void theRenewedPermitOfADeadInstanceIsFreeOneDurationLater() {
    LimitRequest call = inFlight(1);
    Verdict running = acquire(call);
    advance(THIRD);
    renew(running);
    advance(PERMIT_DURATION.minus(TICK));
    assertLimited(call);
    advance(TICK);
    assertAllowed(call);
  }

  @Test
  default void aCallWithAnExpiredPermitTakesItsPlaceAgainEvenIfOthersHaveIt() {
    LimitRequest call = inFlight(1);
    Verdict stalled = acquire(call);
    advance(PERMIT_DURATION);
    Verdict other = acquire(call);
    assertThat(other.allowed()).isTrue();
    advance(SECOND);
    assertThat(renew(stalled)).isEqualTo(1);
    assertThat(settle(other, Completion.succeeded())).isEqualTo(1);
    assertLimited(call);
    assertThat(settle(stalled, Completion.succeeded())).isEqualTo(1);
    assertAllowed(call);
  }

  @Test
  default void aRenewalAfterAResetTakesThePlaceAgain() {
    LimitRequest call = inFlight(1);
    Verdict running = acquire(call);
    store().reset(List.of(call.charge(0).key())).toCompletableFuture().join();
    assertThat(renew(running)).isEqualTo(1);
    assertLimited(call);
    assertThat(settle(running, Completion.succeeded())).isEqualTo(1);
    assertAllowed(call);
  }

  @Test
  default void aRenewalKeepsThePlaceWhenTheClockIsSetBack() {
    LimitRequest call = inFlight(2);
    Verdict first = acquire(call);
    advance(SECOND);
    Verdict second = acquire(call);
    advance(HOUR.negated());
    assertThat(renew(first)).isEqualTo(1);
    assertLimited(call);
    assertThat(settle(second, Completion.succeeded())).isEqualTo(1);
    assertThat(settle(first, Completion.succeeded())).isEqualTo(1);
    acquire(2, call);
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 117, 118, 119, 120, 240})
  default void eachOfManyIsRenewedAndEndsByItself(int count) {
    LimitRequest call = inFlight(count);
    List<Verdict> running = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      running.add(acquire(call));
      advance(TICK);
    }
    assertLimited(call);
    advance(THIRD);
    for (int i = 0; i < count; i += 2) {
      assertThat(renew(running.get(i))).isEqualTo(1);
    }
    assertLimited(call);
    advance(PERMIT_DURATION.minus(THIRD));
    assertThat(remaining(call)).isEqualTo(count / 2);
    for (int i = 0; i < count; i += 2) {
      assertThat(settle(running.get(i), Completion.succeeded())).isEqualTo(1);
    }
    assertThat(remaining(call)).isEqualTo(count);
  }

  @Test
  default void aCallThatEndsDuringARenewalStaysFree() {
    LimitRequest call = inFlight(1);
    for (int i = 0; i < 200; i++) {
      Verdict verdict = acquire(call);
      assertThat(verdict.allowed()).isTrue();
      advance(TICK);
      CompletableFuture<Long> elsewhere =
          CompletableFuture.supplyAsync(() -> verdict.reservation().renewPermits())
              .thenCompose(renewed -> renewed);
      CompletionStage<Long> here = i % 2 == 0 ? elsewhere : verdict.reservation().renewPermits();
      assertThat(settle(verdict, Completion.succeeded())).as("settled, call %d", i).isEqualTo(1);
      CompletableFuture.allOf(elsewhere, here.toCompletableFuture()).join();
      assertThat(stored(call)).as("left after call %d", i).containsOnly(Optional.empty());
    }
  }

  @Test
  default void theShortestPermitDurationOfACallApplies() {
    LimitRequest call =
        call("one", ConcurrencyLimitRule.of(1, MINUTE))
            .and(
                call(
                    "other",
                    ConcurrencyLimitRule.of(5, SECOND.multipliedBy(9)),
                    ConcurrencyLimitRule.of(9, HOUR)));
    Verdict verdict = acquire(call);
    assertThat(verdict.reservation().permitDuration()).contains(SECOND.multipliedBy(9));
    assertThat(renew(verdict)).isEqualTo(2);
    assertThat(acquire(call).reservation().permitDuration()).isEmpty();
    assertThat(acquire(call(rule(1, MINUTE))).reservation().permitDuration()).isEmpty();
  }
}
