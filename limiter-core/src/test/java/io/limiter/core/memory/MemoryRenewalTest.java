// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.LimitRequest;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.store.Mode;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Concurrency permits that are renewed where a store is full, or its clock set back. */
class MemoryRenewalTest {

  private static final Duration PERMIT_DURATION = Duration.ofSeconds(30);

  private long clock = 100_000_000;

  private static LimitRequest call(String who, long places) {
    Policy policy = Policy.of("in-flight", ConcurrencyLimitRule.of(places, PERMIT_DURATION));
    return LimitRequest.of(policy, new Subject("user", who));
  }

  private static Verdict acquire(MemoryStore store, LimitRequest call) {
    return store.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
  }

  private static long renew(Verdict held) {
    return held.reservation().renewPermits().toCompletableFuture().join();
  }

  @Test
  void inAFullStoreAPlaceThatIsHeldIsRenewed() {
    try (MemoryStore store = new MemoryStore(1, () -> clock)) {
      Verdict held = acquire(store, call("ada", 1));
      clock += 20_000_000;
      assertThat(renew(held)).isEqualTo(1);
      clock += 20_000_000;
      assertThat(acquire(store, call("ada", 1)).allowed()).isFalse();
    }
  }

  @Test
  void inAFullStoreALostPermitIsNotTakenAgain() {
    try (MemoryStore store = new MemoryStore(1, () -> clock)) {
      Verdict held = acquire(store, call("ada", 1));
      clock += 40_000_000;
      acquire(store, call("bob", 1));
      assertThat(store.subjects()).isEqualTo(1);
      assertThat(renew(held)).isZero();
      assertThat(store.subjects()).isEqualTo(1);
    }
  }

  @Test
  void aRenewalOnAClockThatWasSetBackKeepsTheOthersPlaces() {
    try (MemoryStore store = new MemoryStore(10, () -> clock)) {
      Verdict held = acquire(store, call("ada", 2));
      clock -= 10_000_000;
      acquire(store, call("ada", 2));
      clock -= 10_000_000;
      assertThat(renew(held)).isEqualTo(1);
      clock += 29_999_999;
      assertThat(acquire(store, call("ada", 2)).allowed()).as("a tick before").isFalse();
      clock += 1;
      assertThat(acquire(store, call("ada", 2)).allowed()).as("one permit duration later").isTrue();
    }
  }
}
