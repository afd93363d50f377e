// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.outage;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Completion;
import io.limiter.core.Fallback;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.Reservation;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.outage.FallbackLogTest.StoreThatGoesAway;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** Calls that a fallback admitted are renewed and settled there, also once the store is back. */
class FallbackReservationTest {

  private static final Subject ADA = new Subject("user", "ada");
  private static final LimitRequest CALL =
      LimitRequest.of(Policy.of("rows", SlidingWindowLogRule.of(5, Duration.ofHours(1))), ADA)
          .and(LimitRequest.of(Policy.of("flight", ConcurrencyLimitRule.of(1)), ADA));

  private final MemoryStore memory = new MemoryStore();
  private final MemoryStore fallback = new MemoryStore();
  private final AtomicBoolean away = new AtomicBoolean(true);
  private final LimitStore first = new StoreThatGoesAway(memory, away);
  private final LimitStore store = new FallbackStore(first, fallback);
  private final LimitStore open =
      new FallbackStore(first, fallback, policy -> Fallback.ALLOW, new FallbackCounts());

  private static Verdict decide(LimitStore store, Mode mode) {
    return store.decide(CALL, mode).toCompletableFuture().join();
  }

  @Test
  void settlementsAndRenewalsGoToTheStoreThatDecided() {
    Reservation reservation = decide(store, Mode.ACQUIRE).reservation();
    away.set(false);

    assertThat(reservation.permitDuration()).contains(ConcurrencyLimitRule.DEFAULT_PERMIT_DURATION);
    assertThat(reservation.renewPermits()).isCompletedWithValue(1L);
    assertThat(reservation.settle(Completion.succeeded().withCost(3))).isCompletedWithValue(1L);
    assertThat(decide(memory, Mode.PEEK).rules())
        .extracting(RuleVerdict::remaining)
        .containsExactly(5L, 1L);
    assertThat(decide(fallback, Mode.PEEK).rules())
        .extracting(RuleVerdict::remaining)
        .containsExactly(2L, 1L);
  }

  @Test
  void aFixedFallbackHoldsNoState() {
    Reservation reservation = decide(open, Mode.ACQUIRE).reservation();

    assertThat(reservation.permitDuration()).isEmpty();
    assertThat(reservation.renewPermits()).isCompletedWithValue(0L);
    assertThat(reservation.settle(Completion.failed())).isCompletedWithValue(0L);
  }
}
