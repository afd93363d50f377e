// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.slf4j.helpers.NOPLogger;

/** When a breaker opens, and when it does not. */
class BreakerTest {

  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final StoreException TIMEOUT =
      new StoreException(FailureReason.TIMEOUT, "Redis did not answer within 100 ms", null);

  /** Near the largest long: nanoseconds may start anywhere, and overflow. */
  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 5);

  private final Breaker breaker =
      new Breaker(
          new NodeBreakers.BreakerLog(NOPLogger.NOP_LOGGER, "Redis"), nanos::get, () -> 0.5);

  @Test
  void fiveFailuresInARowOpenIt() {
    fail(4);
    assertThat(breaker.isOpen()).isFalse();

    fail(1);

    assertThat(breaker.isOpen()).isTrue();
  }

  @Test
  void anAnswerInBetweenResetsTheRow() {
    fail(4);
    answer(1);
    fail(4);

    assertThat(breaker.isOpen()).isFalse();
  }

  @Test
  void failuresInARowMayBeFarApart() {
    for (int i = 0; i < 5; i++) {
      advance(Duration.ofHours(1));
      fail(1);
    }

    assertThat(breaker.isOpen()).isTrue();
  }

  @Test
  void halfOfTwentyCallsWithinASecondOpenIt() {
    for (int i = 0; i < 9; i++) {
      answer(1);
      fail(1);
    }
    answer(1);
    assertThat(breaker.isOpen()).isFalse();

    fail(1);

    assertThat(breaker.isOpen()).isTrue();
  }

  @Test
  void fewerThanTwentyCallsDoNotUnlessTheyFailInARow() {
    for (int i = 0; i < 9; i++) {
      fail(1);
      answer(1);
    }
    fail(1);

    assertThat(breaker.isOpen()).isFalse();
  }

  @Test
  void fewerThanHalfDoNot() {
    answer(400);
    for (int i = 0; i < 99; i++) {
      fail(4);
      answer(5);
    }

    assertThat(breaker.isOpen()).isFalse();
  }

  @Test
  void callsOfAnEarlierSecondDoNotCount() {
    for (int i = 0; i < 9; i++) {
      answer(1);
      fail(1);
    }
    advance(SECOND);
    answer(1);
    fail(1);

    assertThat(breaker.isOpen()).isFalse();
  }

  @Test
  void undecidedCallsAndCallsThatWereNotSentOpenNothing() {
    for (int i = 0; i < 100; i++) {
      breaker.admit().undecided();
    }

    assertThat(breaker.isOpen()).isFalse();
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
