// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** When a completion computes the cost of a call, and for which charge. */
class CompletionTest {

  private final LimitRequest call = call(rule(9, MINUTE)).withCost(5);
  private final Charge charge = call.charge(0);

  @Test
  void knownCostsAreNotComputedAgain() {
    AtomicInteger asked = new AtomicInteger();
    Completion costed =
        Completion.succeeded()
            .withCosts(any -> asked.incrementAndGet())
            .withKnownCosts(call.allCharges());
    assertThat(asked).hasValue(1);
    assertThat(costed.returned(charge)).isEqualTo(4);
    assertThat(costed.returned(charge)).isEqualTo(4);
    assertThat(costed.rest(call, any -> true)).isEmpty();
    assertThat(asked).hasValue(1);
  }

  @Test
  void aCostOfOneChargeDoesNotApplyToAnother() {
    Completion costed = Completion.succeeded().withCost(2).withKnownCosts(call.allCharges());
    assertThat(costed.returned(charge)).isEqualTo(3);
    assertThat(costed.returned(charge.withCost(7))).isZero();
  }

  @Test
  void aReplacedChargeHasTheActualCostOfTheOriginal() {
    Charge share = call(rule(3, MINUTE)).withCost(5).charge(0);
    Completion completion = Completion.succeeded().withCosts(any -> any.equals(charge) ? 2 : 9);
    assertThat(completion.returned(share)).isZero();
    assertThat(completion.standingFor(any -> charge).returned(share)).isEqualTo(3);
    assertThat(Completion.succeeded().standingFor(any -> charge).returned(share)).isZero();
  }

  @Test
  void onlyChargesThatTookUnitsCostMore() {
    Completion completion = Completion.failed().withCost(7);
    assertThat(completion.rest(call, any -> true).orElseThrow().charge(0).cost()).isEqualTo(2);
    assertThat(completion.rest(call, any -> false)).isEmpty();
  }
}
