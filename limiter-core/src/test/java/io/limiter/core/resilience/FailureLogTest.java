// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

class FailureLogTest {

  private static final StoreException FAILURE =
      new StoreException(FailureReason.TIMEOUT, "Redis did not answer within 100 ms", null);

  private final Logger logger = (Logger) LoggerFactory.getLogger(FailureLogTest.class);
  private final ListAppender<ILoggingEvent> messages = new ListAppender<>();

  /** Near the largest long: nanoseconds may start anywhere, and overflow. */
  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 5);

  private final FailureLog log = new FailureLog(logger, "The limit store fails", nanos::get);

  @BeforeEach
  void listen() {
    logger.setAdditive(false);
    messages.start();
    logger.addAppender(messages);
  }

  @AfterEach
  void stopListening() {
    logger.detachAppender(messages);
    logger.setAdditive(true);
  }

  @Test
  void theFirstFailureIsLoggedAtOnce() {
    log.report(FAILURE);

    assertThat(messages.list)
        .extracting(ILoggingEvent::getFormattedMessage)
        .containsExactly(
            "The limit store fails (TIMEOUT): Redis did not answer within 100 ms. Decisions taken by the fallback since the last message: 1");
  }

  @Test
  void failuresAreLoggedOnceInTenSecondsHoweverMany() {
    for (int i = 0; i < 1_000; i++) {
      log.report(FAILURE);
    }
    nanos.addAndGet(Duration.ofSeconds(10).toNanos() - 1);
    log.report(FAILURE);

    assertThat(messages.list).hasSize(1);
  }

  @Test
  void theNextMessageContainsTheNumberSince() {
    for (int i = 0; i < 1_000; i++) {
      log.report(FAILURE);
    }
    nanos.addAndGet(Duration.ofSeconds(10).toNanos());
    log.report(FAILURE);

    assertThat(messages.list)
        .extracting(ILoggingEvent::getFormattedMessage)
        .hasSize(2)
        .last()
        .asString()
        .endsWith("since the last message: 1000");
  }
}
