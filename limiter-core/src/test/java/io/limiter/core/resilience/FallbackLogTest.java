// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.LimitRequest;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
import io.limiter.core.testing.RecordedLog;
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
}
