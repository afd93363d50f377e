// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.redis.Breaker.Period;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.slf4j.helpers.NOPLogger;

/** How long a breaker stays open, what closes it, and what does not. */
class BreakerProbeTest {

  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final StoreException TIMEOUT =
      new StoreException(FailureReason.TIMEOUT, "Redis did not answer within 100 ms", null);

  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 5);
  private double random = 0.5;
  private final Breaker breaker =
      new Breaker(
          new NodeBreakers.BreakerLog(NOPLogger.NOP_LOGGER, "Redis at db:6379"),
          nanos::get,
          () -> random);

  @ParameterizedTest
  @CsvSource({"0,800", "0.5,1000", "1,1200"})
  void itStaysOpenForASecondMoreOrLessByAFifth(double drawn, int millis) {
    random = drawn;
    fail(5);

    advance(Duration.ofMillis(millis).minusNanos(1));
    assertThat(breaker.admit()).isNull();
    advance(Duration.ofNanos(1));

    assertThat(breaker.admit()).isNotNull();
  }

  @Test
  void oneProbeGoes() {
    fail(5);
    advance(SECOND);

    assertThat(Stream.generate(breaker::admit).limit(1_000).filter(Objects::nonNull)).hasSize(1);
  }

  @Test
  void itsAnswerCloses() {
    fail(5);
    advance(SECOND);
    Period probe = breaker.admit();
    assertThat(breaker.isOpen()).isTrue();

    probe.answered();

    assertThat(breaker.isOpen()).isFalse();
    fail(4);
    assertThat(breaker.isOpen()).as("after less than a new row").isFalse();
  }

  @Test
  void ifItFailsTheNextGoesASecondAfterIt() {
    fail(5);
    advance(SECOND);
    Period probe = breaker.admit();
    advance(Duration.ofMillis(100));
    probe.failed(TIMEOUT);

    advance(Duration.ofMillis(900).minusNanos(1));
    assertThat(breaker.admit()).isNull();
    advance(Duration.ofNanos(1));
    assertThat(breaker.admit()).isNotNull();
  }

  @Test
  void aProbeThatIsUndecidedOrNotSentIsLeftToTheNextCall() {
    fail(5);
    advance(SECOND);
    breaker.admit().undecided();
    breaker.admit().undecided();

    breaker.admit().answered();

    assertThat(breaker.isOpen()).isFalse();
  }

  @Test
  void aProbeWhoseEndIsNeverReportedDoesNotKeepItOpenForever() {
    fail(5);
    advance(SECOND);
    assertThat(breaker.admit()).isNotNull();

    advance(SECOND);

    assertThat(breaker.admit()).isNotNull();
  }

  @Test
  void callsBegunBeforeItOpenedDoNotCloseIt() {
    Period before = breaker.admit();
    fail(5);

    before.answered();
    assertThat(breaker.isOpen()).isTrue();
    advance(SECOND);
    assertThat(breaker.admit()).isNotNull();
    before.answered();

    assertThat(breaker.isOpen()).isTrue();
  }

  @Test
  void callsBegunBeforeItOpenedDoNotOpenItAgain() {
    Period before = breaker.admit();
    fail(5);
    advance(SECOND);
    breaker.admit().answered();

    for (int i = 0; i < 100; i++) {
      before.failed(TIMEOUT);
    }

    assertThat(breaker.isOpen()).isFalse();
  }

  @Test
  void aLateProbeOfAnEarlierOutageDoesNotCloseALaterOne() {
    fail(5);
    advance(SECOND);
    Period slow = breaker.admit();
    advance(SECOND);
    breaker.admit().answered();
    fail(5);

    slow.answered();

    assertThat(breaker.isOpen()).isTrue();
  }

  @Test
  void aRejectedCallGetsTheTimeOfTheNextProbe() {
    fail(5);
    advance(Duration.ofMillis(300));

    StoreException rejection = breaker.rejection();

    assertThat(rejection.reason()).isEqualTo(FailureReason.BREAKER_OPEN);
    assertThat(rejection).hasMessage("Redis at db:6379 failed recently, so the call was not sent");
    assertThat(rejection.retryAfter()).contains(Duration.ofMillis(700));
  }

  private void advance(Duration time) {
    nanos.addAndGet(time.toNanos());
  }

  private void fail(int calls) {
    for (int i = 0; i < calls; i++) {
      breaker.admit().failed(TIMEOUT);
    }
  }
}
