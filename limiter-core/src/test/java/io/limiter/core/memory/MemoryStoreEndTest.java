// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.SECOND;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.testing.RecordedLog;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/** How long a store keeps a key; a store that has no room left, and one that is closed. */
class MemoryStoreEndTest {

  private long clock = 100_000_000;

  private static Verdict acquire(MemoryStore store, LimitRequest call) {
    return store.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
  }

  @Test
  void aClosedStoreDecidesAndResetsNothing() {
    MemoryStore store = new MemoryStore();
    LimitRequest call = call(rule(1, MINUTE));
    StateKey key = call.charge(0).key();
    store.close();
    List<CompletionStage<?>> stages =
        List.of(
            store.decide(call, Mode.PEEK), store.reset(List.of(key)), store.liftBans(List.of(key)));
    for (CompletionStage<?> stage : stages) {
      assertThat(stage)
          .failsWithin(SECOND)
          .withThrowableThat()
          .withCauseInstanceOf(StoreException.class)
          .withMessageContaining("The memory store is closed");
    }
  }

  @Test
  void aClosedStoreHoldsNoSubject() {
    MemoryStore store = new MemoryStore(1_000, () -> 0);
    for (int i = 0; i < 100; i++) {
      acquire(store, call("subject " + i, rule(1, MINUTE)));
    }
    assertThat(store.subjects()).isEqualTo(100);
    store.close();
    assertThat(store.subjects()).isZero();
  }

  @Test
  void aClosedStoreGivesNothingBack() {
    MemoryStore store = new MemoryStore(1, () -> 0);
    Verdict known = acquire(store, call("known", rule(1, MINUTE)));
    Verdict stranger = acquire(store, call("stranger", rule(1, MINUTE)));
    store.close();
    assertThat(known.reservation().refund()).isCompletedWithValue(0L);
    assertThat(stranger.reservation().refund()).isCompletedWithValue(0L);
  }

  @Test
  void aFullStoreLogsThisOnce() {
    try (RecordedLog log = RecordedLog.of(MemoryStore.class)) {
      MemoryStore store = new MemoryStore(3, () -> 0);
      for (int i = 0; i < 3; i++) {
        acquire(store, call("known " + i, rule(5, MINUTE)));
        acquire(store, call("known " + i, rule(5, MINUTE)));
      }
      assertThat(log.messages()).isEmpty();
      for (int i = 0; i < 3; i++) {
        acquire(store, call("stranger " + i, rule(5, MINUTE)));
      }
      assertThat(log.messages())
          .containsExactly(
              "The memory store is full: it holds 3 keys, and further subjects are counted together. If the traffic is legitimate, increase the maximum number of subjects");
    }
  }

  /** The number of keys after some peeks by a new subject, which gets none. */
  private static int remembered(MemoryStore store) {
    for (int i = 0; i < 8; i++) { // each inspects two of sixteen buckets
      store.decide(call("stranger", rule(1, SECOND)), Mode.PEEK);
    }
    return store.subjects();
  }

  @Test
  void aKeyExpiresASecondAfterItIsFullyReplenished() {
    MemoryStore store = new MemoryStore(100, () -> clock);
    for (Rule rule : List.of(rule(1, MINUTE), FixedWindowRule.of(1, MINUTE))) {
      acquire(store, call("somebody", rule));
      clock += 60_999_999;
      assertThat(remembered(store)).as("%s", rule).isEqualTo(1);
      clock += 1;
      assertThat(remembered(store)).as("%s", rule).isZero();
    }
  }

  @Test
  void aKeyExpiresAsSoonThoughTheClockWasSetBack() {
    MemoryStore store = new MemoryStore(100, () -> clock);
    for (Rule rule : List.of(rule(1, MINUTE), FixedWindowRule.of(1, MINUTE))) {
      LimitRequest call = call("somebody", rule);
      acquire(store, call);
      clock -= 10_000_000;
      assertThat(acquire(store, call).outcome()).isEqualTo(Outcome.LIMITED);
      clock += 60_999_999;
      assertThat(remembered(store)).as("%s", rule).isEqualTo(1);
      clock += 1;
      assertThat(remembered(store)).as("%s", rule).isZero();
    }
  }

  private static LimitRequest inFlight(String who, long places) {
    return call(who, ConcurrencyLimitRule.of(places, SECOND.multipliedBy(30)));
  }

  private static long renew(Verdict held) {
    return held.reservation().renewPermits().toCompletableFuture().join();
  }

  @Test
  void inAFullStoreAPlaceThatIsHeldIsRenewed() {
    try (MemoryStore store = new MemoryStore(1, () -> clock)) {
      Verdict held = acquire(store, inFlight("ada", 1));
      clock += 20_000_000;
      assertThat(renew(held)).isEqualTo(1);
      clock += 20_000_000;
      assertThat(acquire(store, inFlight("ada", 1)).allowed()).isFalse();
    }
  }

  @Test
  void inAFullStoreALostPermitIsNotTakenAgain() {
    try (MemoryStore store = new MemoryStore(1, () -> clock)) {
      Verdict held = acquire(store, inFlight("ada", 1));
      clock += 40_000_000;
      acquire(store, inFlight("bob", 1));
      assertThat(store.subjects()).isEqualTo(1);
      assertThat(renew(held)).isZero();
      assertThat(store.subjects()).isEqualTo(1);
    }
  }

  @Test
  void aRenewalOnAClockThatWasSetBackKeepsTheOthersPlaces() {
    try (MemoryStore store = new MemoryStore(10, () -> clock)) {
      Verdict held = acquire(store, inFlight("ada", 2));
      clock -= 10_000_000;
      acquire(store, inFlight("ada", 2));
      clock -= 10_000_000;
      assertThat(renew(held)).isEqualTo(1);
      clock += 29_999_999;
      assertThat(acquire(store, inFlight("ada", 2)).allowed()).as("a tick before").isFalse();
      clock += 1;
      assertThat(acquire(store, inFlight("ada", 2)).allowed())
          .as("one permit duration later")
          .isTrue();
    }
  }
}
