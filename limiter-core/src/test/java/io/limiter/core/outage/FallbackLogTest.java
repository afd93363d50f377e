// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.outage;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.FailureReason;
import io.limiter.core.Fallback;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.store.DelegatingStore;
import io.limiter.core.testing.RecordedLog;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** The failure of a store is logged, though its fallback decides. */
class FallbackLogTest {

  @Test
  void theLogReportsThatTheFallbackDecides() {
    LimitRequest call = call(rule(9, MINUTE));
    try (RecordedLog log = RecordedLog.of(FallbackStore.class)) {
      try (MemoryStore gone = new MemoryStore();
          LimitStore store = new FallbackStore(gone, new MemoryStore())) {
        store.decide(call, Mode.ACQUIRE);
        assertThat(log.messages()).isEmpty();
        gone.close();
        store.decide(call, Mode.ACQUIRE);
        store.decide(call, Mode.ACQUIRE);
      }
      assertThat(log.messages())
          .containsExactly(
              "The limit store failed (DISCONNECTED): The memory store is closed. Fallback decisions since the last message: 1");
    }
  }

  @Test
  void theEndOfAnOutageIsLoggedWithItsDecisionsAndItsDuration() {
    LimitRequest call = call(rule(99, MINUTE));
    AtomicLong nanos = new AtomicLong();
    AtomicBoolean away = new AtomicBoolean(true);
    try (RecordedLog log = RecordedLog.ofInfo(FallbackLogTest.class);
        MemoryStore memory = new MemoryStore();
        LimitStore store =
            new FallbackStore(
                new StoreThatGoesAway(memory, away),
                new MemoryStore(),
                policy -> Fallback.LOCAL,
                new FallbackCounts(),
                9,
                nanos::get,
                List.of(),
                log.logger())) {
      for (int i = 0; i < 12; i++) {
        nanos.addAndGet(Duration.ofSeconds(3).toNanos());
        store.decide(call, Mode.ACQUIRE);
      }
      log.clear();
      away.set(false);
      store.decide(call, Mode.ACQUIRE);
      assertThat(log.messages()).isEmpty();
      nanos.addAndGet(Duration.ofSeconds(10).toNanos());
      store.decide(call, Mode.ACQUIRE);
      store.decide(call, Mode.ACQUIRE);

      assertThat(log.messages())
          .containsExactly("The limit store decides again. Fallback decisions: 12, within 33 s");

      // Also of a single one, whose message has its number.
      away.set(true);
      store.decide(call, Mode.ACQUIRE);
      away.set(false);
      nanos.addAndGet(Duration.ofSeconds(10).toNanos());
      store.decide(call, Mode.ACQUIRE);
      assertThat(log.messages())
          .last()
          .isEqualTo("The limit store decides again. Fallback decisions: 1, within 0 s");
    }
  }

  /** A store that cannot be reached for as long as the test says so. */
  static final class StoreThatGoesAway extends DelegatingStore {
    private final AtomicBoolean away;

    StoreThatGoesAway(LimitStore store, AtomicBoolean away) {
      super(store);
      this.away = away;
    }

    @Override
    public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
      return away.get()
          ? CompletableFuture.failedFuture(
              new StoreException(FailureReason.DISCONNECTED, "away", null))
          : super.decide(request, mode);
    }
  }
}
