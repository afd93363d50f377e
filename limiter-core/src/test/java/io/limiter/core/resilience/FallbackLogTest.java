// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.limiter.core.LimitRequest;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** The failure of a store is logged, though its fallback decides. */
class FallbackLogTest {

  @Test
  void theLogReportsThatTheFallbackDecides() {
    Logger logger = (Logger) LoggerFactory.getLogger(FallbackStore.class);
    ListAppender<ILoggingEvent> messages = new ListAppender<>();
    messages.start();
    logger.setAdditive(false);
    logger.addAppender(messages);
    LimitRequest call = call(rule(9, MINUTE));
    try (MemoryStore gone = new MemoryStore();
        LimitStore store = new FallbackStore(gone, new MemoryStore())) {
      store.decide(call, Mode.ACQUIRE);
      assertThat(messages.list).isEmpty();
      gone.close();
      store.decide(call, Mode.ACQUIRE);
      store.decide(call, Mode.ACQUIRE);
    } finally {
      logger.detachAppender(messages);
      logger.setAdditive(true);
    }
    assertThat(messages.list)
        .extracting(ILoggingEvent::getFormattedMessage)
        .containsExactly(
            "The limit store failed (DISCONNECTED): The memory store is closed. Fallback decisions since the last message: 1");
  }
}
