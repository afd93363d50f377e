// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static io.limiter.core.StoreHarness.submit;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Charge;
import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Reservation;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.core.rule.ConcurrencyLimitRule;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Units taken from a share are settled, released and renewed as if they were of the whole. */
class ShareReservationTest {

  private final MemoryStore memory = new MemoryStore(10, () -> 0);
  private final LimitStore store = new ShareStore(memory, 2);

  private Verdict decide(LimitRequest call, Mode mode) {
    return store.decide(call, mode).toCompletableFuture().join();
  }

  @Test
  void costsAreThoseOfTheOriginalCharges() {
    LimitRequest rows = call("rows", rule(100, MINUTE)).withCost(20);
    LimitRequest bytes = call("bytes", rule(200, MINUTE)).withCost(50);
    LimitRequest both = rows.and(bytes);
    Map<Charge, Integer> costs = Map.of(both.charge(0), 5, both.charge(1), 60);
    Reservation reservation = decide(both, Mode.ACQUIRE).reservation();

    assertThat(reservation.settle(Completion.succeeded().withCosts(costs::get)))
        .isCompletedWithValue(15L);
    assertThat(decide(both, Mode.PEEK).rules())
        .extracting(RuleVerdict::remaining)
        .containsExactly(45L, 40L);
  }

  @Test
  void aSubmissionIsReleasedWithoutItsUnits() {
    LimitRequest form = submit("form", rule(9, MINUTE));
    Verdict verdict = decide(form, Mode.ACQUIRE);
    assertThat(decide(form, Mode.ACQUIRE).outcome()).isEqualTo(Outcome.DUPLICATE);

    assertThat(verdict.reservation().release()).isCompletedWithValue(1L);
    assertThat(decide(form, Mode.ACQUIRE).rules().get(0).remaining()).isEqualTo(3);
  }

  @Test
  void aPermitIsRenewedWithinItsDuration() {
    Reservation reservation = decide(call(ConcurrencyLimitRule.of(2)), Mode.ACQUIRE).reservation();

    assertThat(reservation.permitDuration()).contains(ConcurrencyLimitRule.DEFAULT_PERMIT_DURATION);
    assertThat(reservation.renewPermits()).isCompletedWithValue(1L);
  }

  @Test
  void theShareOfALimitIsMadeOnce() {
    LimitRequest call = call(rule(9, MINUTE));

    assertThat(decide(call, Mode.PEEK).rules().get(0).rule())
        .isSameAs(decide(call, Mode.PEEK).rules().get(0).rule());
  }

  @Test
  void aResetEndsWithTheReplyOfTheStore() {
    assertThat(store.reset(List.of(call(rule(9, MINUTE)).charge(0).key()))).isCompleted();
  }

  @Test
  void closingItClosesTheStore() {
    store.close();

    assertThat(memory.decide(call(rule(9, MINUTE)), Mode.PEEK)).isCompletedExceptionally();
  }
}
