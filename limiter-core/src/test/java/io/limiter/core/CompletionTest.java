// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** When an ending asks what a call has cost, and of which charge. */
class CompletionTest {

  private final LimitRequest call = call(rule(9, MINUTE)).withCost(5);
  private final Charge charge = call.charge(0);

  @Test
  void costsThatWereToldAreNotAskedForAgain() {
    AtomicInteger asked = new AtomicInteger();
    Completion told =
        Completion.succeeded()
            .withCosts(any -> asked.incrementAndGet())
            .withKnownCosts(call.allCharges());
    assertThat(asked).hasValue(1);
    assertThat(told.returned(charge)).isEqualTo(4);
    assertThat(told.returned(charge)).isEqualTo(4);
    assertThat(told.rest(call, any -> true)).isEmpty();
    assertThat(asked).hasValue(1);
  }

  @Test
  void whatWasToldOfOneChargeSaysNothingOfAnother() {
    Completion told = Completion.succeeded().withCost(2).withKnownCosts(call.allCharges());
    assertThat(told.returned(charge)).isEqualTo(3);
    assertThat(told.returned(charge.withCost(7))).isZero();
  }

  @Test
  void aChargeThatStandsForAnotherHasCostWhatThatHas() {
    Charge share = call(rule(3, MINUTE)).withCost(5).charge(0);
    Completion ending = Completion.succeeded().withCosts(any -> any.equals(charge) ? 2 : 9);
    assertThat(ending.returned(share)).isZero();
    assertThat(ending.standingFor(any -> charge).returned(share)).isEqualTo(3);
    assertThat(Completion.succeeded().standingFor(any -> charge).returned(share)).isZero();
  }

  @Test
  void onlyWhatWasTakenCostsMore() {
    Completion ending = Completion.failed().withCost(7);
    assertThat(ending.rest(call, any -> true).orElseThrow().charge(0).cost()).isEqualTo(2);
    assertThat(ending.rest(call, any -> false)).isEmpty();
  }
}
