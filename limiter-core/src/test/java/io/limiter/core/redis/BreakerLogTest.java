// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** The log messages of a breaker, and how often they appear. */
class BreakerLogTest {

  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final StoreException TIMEOUT =
      new StoreException(
          FailureReason.TIMEOUT, "Redis at db:6379 did not answer within 100 ms", null);

  private final Logger logger = (Logger) LoggerFactory.getLogger(BreakerLogTest.class);
  private final ListAppender<ILoggingEvent> messages = new ListAppender<>();
  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 5);
  private double random = 0.5;
  private final Breaker breaker =
      new Breaker(
          new NodeBreakers.BreakerLog(logger, "Redis at db:6379"), nanos::get, () -> random);

  @BeforeEach
  void listen() {
    logger.setAdditive(false);
    logger.setLevel(Level.INFO);
    messages.start();
    logger.addAppender(messages);
  }

  @AfterEach
  void stopListening() {
    logger.detachAppender(messages);
    logger.setAdditive(true);
    logger.setLevel(null);
  }

  @Test
  void itsTransitionsAreLogged() {
    fail(5);
    advance(SECOND);
    breaker.admit().answered();

    assertThat(messages())
        .containsExactly(
            "Redis at db:6379 has failed, so its circuit breaker is open: 5 calls in a row failed, the last with TIMEOUT (Redis at db:6379 did not answer within 100 ms). A probe is sent about once a second. Openings since the last message: 1",
            "Redis at db:6379 has answered a probe: its circuit breaker is closed");
  }

  @Test
  void aRateOfFailuresIsLoggedAsSuch() {
    for (int i = 0; i < 10; i++) {
      answer(1);
      fail(1);
    }

    assertThat(messages())
        .singleElement()
        .asString()
        .contains("10 of 20 calls within a second failed");
  }

  @Test
  void aFlappingRedisIsLoggedOnceASecondAtMostAndTheLastMessageIsTrue() {
    random = 0;
    for (int i = 0; i < 100; i++) { // for 81 s
      fail(5);
      advance(Duration.ofMillis(800));
      breaker.admit().answered();
      advance(Duration.ofMillis(10));
    }
    assertThat(messages()).hasSizeBetween(40, 81).last().asString().endsWith("breaker is closed");

    fail(5);
    advance(Duration.ofMillis(800));
    breaker.admit().failed(TIMEOUT);
    advance(Duration.ofMillis(800));
    breaker.admit().failed(TIMEOUT);
    advance(Duration.ofMillis(800));
    breaker.admit().failed(TIMEOUT);

    assertThat(messages()).last().asString().startsWith("Redis at db:6379 has failed");
  }

  @Test
  void aLongOutageIsLoggedOnce() {
    fail(5);
    for (int i = 0; i < 60; i++) {
      advance(SECOND);
      breaker.admit().failed(TIMEOUT);
    }

    assertThat(messages()).hasSize(1);
  }

  private List<String> messages() {
    return messages.list.stream().map(ILoggingEvent::getFormattedMessage).toList();
  }

  private void advance(Duration time) {
    nanos.addAndGet(time.toNanos());
  }

  private void fail(int calls) {
    for (int i = 0; i < calls; i++) {
      breaker.admit().failed(TIMEOUT);
    }
  }

  private void answer(int calls) {
    for (int i = 0; i < calls; i++) {
      breaker.admit().answered();
    }
  }
}
