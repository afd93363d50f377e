// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.testing.RecordedLog;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The log messages of a breaker, and how often they appear. */
class BreakerLogTest {

  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final StoreException TIMEOUT =
      new StoreException(
          FailureReason.TIMEOUT, "Redis at db:6379 did not answer within 100 ms", null);

  private static final StoreException DISCONNECTED =
      new StoreException(FailureReason.DISCONNECTED, "Redis at db:6379 is not connected", null);

  private final RecordedLog log = RecordedLog.ofInfo(BreakerLogTest.class);
  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 5);
  private double random = 0.5;
  private final Breaker breaker =
      new Breaker(
          new NodeBreakers.BreakerLog(log.logger(), "Redis at db:6379"), nanos::get, () -> random);

  @AfterEach
  void stopListening() {
    log.close();
  }

  @Test
  void itsTransitionsAreLogged() {
    fail(5);
    for (int i = 0; i < 11; i++) {
      advance(SECOND);
      breaker.admit().failed(TIMEOUT);
    }
    advance(SECOND);
    breaker.admit().answered();

    assertThat(log.messages())
        .containsExactly(
            "Redis at db:6379 has failed, so its circuit breaker is open: 5 calls in a row failed, the last with TIMEOUT (Redis at db:6379 did not answer within 100 ms). A probe is sent about once a second. Openings since the last message: 1",
            "Redis at db:6379 has answered a probe after 12 s: its circuit breaker is closed");
  }

  @Test
  void aRateOfFailuresIsLoggedAsSuch() {
    for (int i = 0; i < 10; i++) {
      answer(1);
      fail(1);
    }

    assertThat(log.messages())
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
    assertThat(log.messages())
        .hasSizeBetween(40, 81)
        .last()
        .asString()
        .endsWith("breaker is closed");

    fail(5);
    advance(Duration.ofMillis(800));
    breaker.admit().failed(TIMEOUT);
    advance(Duration.ofMillis(800));
    breaker.admit().failed(TIMEOUT);
    advance(Duration.ofMillis(800));
    breaker.admit().failed(TIMEOUT);

    assertThat(log.messages()).last().asString().startsWith("Redis at db:6379 has failed");
  }

  @Test
  void aLongOutageIsLoggedOnce() {
    fail(5);
    for (int i = 0; i < 60; i++) {
      advance(SECOND);
      breaker.admit().failed(TIMEOUT);
    }

    assertThat(log.messages()).hasSize(1);
  }

  @Test
  void theWantOfAConnectionIsLoggedWithItsEnd() {
    for (int i = 0; i < 12; i++) {
      breaker.admit().unconnected(DISCONNECTED);
    }
    advance(Duration.ofSeconds(7));
    answer(2);

    assertThat(log.messages())
        .containsExactly(
            "Redis at db:6379 is away: 5 calls in a row found no connection. The fallback decides until it is connected again",
            "Redis at db:6379 decides again, after 7 s");
  }

  @Test
  void aConnectionThatComesAndGoesIsLoggedOnceASecondAtMost() {
    for (int i = 0; i < 200; i++) { // for 100 s
      for (int j = 0; j < 5; j++) {
        breaker.admit().unconnected(DISCONNECTED);
      }
      advance(Duration.ofMillis(500));
      answer(1);
    }

    assertThat(log.messages()).hasSizeBetween(50, 100).last().asString().contains("decides again");
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
