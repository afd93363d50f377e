// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.util;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.testing.RecordedLog;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class LogThrottleTest {

  /** Near the largest long: nanoseconds may start anywhere, and overflow. */
  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 5);

  private final LogThrottle throttle = new LogThrottle(nanos::get);

  @Test
  void theFirstEventIsLoggedAtOnce() {
    assertThat(throttle.count()).isEqualTo(1);
  }

  @Test
  void furtherEventsAreLoggedOnceInTenSecondsHoweverMany() {
    long messages = 0;
    for (int i = 0; i < 1_000; i++) {
      messages += throttle.count();
    }
    assertThat(messages).isEqualTo(1);
    nanos.addAndGet(Duration.ofSeconds(10).toNanos() - 1);
    assertThat(throttle.count()).isZero();
    nanos.incrementAndGet();
    assertThat(throttle.count()).isEqualTo(1_001);
    assertThat(throttle.count()).isZero();
  }

  @Test
  void aSeriesHasEndedWhenNothingHasHappenedForTenSeconds() {
    assertThat(throttle.ended()).isNull();
    for (int i = 0; i < 6; i++) {
      nanos.addAndGet(Duration.ofSeconds(9).toNanos());
      throttle.count();
    }
    nanos.addAndGet(Duration.ofSeconds(10).toNanos() - 1);
    assertThat(throttle.ended()).isNull();
    nanos.incrementAndGet();
    assertThat(throttle.ended()).isEqualTo(new LogThrottle.Series(6, Duration.ofSeconds(45)));
    assertThat(throttle.ended()).isNull();

    assertThat(throttle.count()).as("none of the series before").isEqualTo(1);
    nanos.addAndGet(Duration.ofSeconds(10).toNanos());
    assertThat(throttle.ended()).isEqualTo(new LogThrottle.Series(1, Duration.ZERO));
  }

  @Test
  void onlyOneOfSeveralThreadsLogs() throws InterruptedException {
    AtomicLong messages = new AtomicLong();
    ExecutorService threads = Executors.newFixedThreadPool(4);
    for (int i = 0; i < 400; i++) {
      threads.execute(() -> messages.addAndGet(throttle.count() > 0 ? 1 : 0));
    }
    threads.shutdown();
    assertThat(threads.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    assertThat(messages).hasValue(1);
  }

  @Test
  void aTextOfOthersIsOnePrintedLineOfBoundedLength() {
    assertThat(LogThrottle.oneLine("a\nb\u2028c\u202ed", 9)).isEqualTo("a?b?c?d");
    assertThat(LogThrottle.oneLine("\ud83d\ude00ab\ud83d", 9)).isEqualTo("\ud83d\ude00ab?");
    assertThat(LogThrottle.oneLine("abcdef", 3)).isEqualTo("abc");
  }

  @Test
  void aFailureIsReportedWithItsStackTraceIfAMessageIsDue() {
    IllegalStateException failure = new IllegalStateException("a defect");
    try (RecordedLog log = RecordedLog.of(LogThrottleTest.class)) {
      for (int i = 0; i < 3; i++) {
        throttle.report(log.logger(), "The part has failed, so it is left out", failure);
      }
      nanos.addAndGet(Duration.ofSeconds(10).toNanos());
      throttle.report(log.logger(), "The part has failed, so it is left out", failure);

      assertThat(log.messages())
          .containsExactly(
              "The part has failed, so it is left out. Occurrences since the last message: 1",
              "The part has failed, so it is left out. Occurrences since the last message: 3");
      assertThat(log.events())
          .allSatisfy(
              event -> assertThat(event.getThrowableProxy().getMessage()).isEqualTo("a defect"));
    }
  }
}
