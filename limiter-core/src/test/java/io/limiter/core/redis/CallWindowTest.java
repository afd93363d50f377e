// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.helpers.NOPLogger;

class CallWindowTest {

  private static final long TENTH = Duration.ofMillis(100).toNanos();
  private static final long SECOND = 10 * TENTH;

  private static Breaker.Closed closedAt(long start) {
    return new Breaker(new NodeBreakers.BreakerLog(NOPLogger.NOP_LOGGER, "Redis"))
    .new Closed(start);
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 123_456_789, Long.MAX_VALUE - 5, Long.MIN_VALUE})
  void itCountsASecondAndNoMoreWhereverItsClockStarts(long start) {
    Breaker.Closed window = closedAt(start);
    window.count(start, true);
    window.count(start + TENTH, false);

    assertSeen(window, start + TENTH, 2, 1);
    assertSeen(window, start + SECOND - 1, 2, 1);
    assertSeen(window, start + SECOND, 1, 0);
    assertSeen(window, start + SECOND + TENTH, 0, 0);
  }

  @Test
  void aReusedSlotStartsAtZero() {
    Breaker.Closed window = closedAt(0);
    for (int i = 0; i < 7; i++) {
      window.count(0, true);
    }
    window.count(SECOND, false);

    assertSeen(window, SECOND, 1, 0);
  }

  @Test
  void daysOfSilenceAreSilence() {
    Breaker.Closed window = closedAt(0);
    window.count(0, true);
    long days = Duration.ofDays(30).toNanos();

    window.count(days, true);

    assertSeen(window, days, 1, 1);
  }

  @Test
  void aFloodDoesNotSpillIntoTheFailures() {
    Breaker.Closed window = closedAt(0);
    for (int i = 0; i < 2_000_000; i++) {
      window.count(0, false);
    }

    assertSeen(window, 0, (1 << 20) - 1, 0);
  }

  @Test
  void noCallIsLostWhereThreadsCountTogether() throws Exception {
    Breaker.Closed window = closedAt(0);
    CountDownLatch together = new CountDownLatch(1);
    Thread[] threads =
        Stream.generate(() -> new Thread(() -> countAfter(together, window)))
            .limit(4)
            .toArray(Thread[]::new);
    for (Thread thread : threads) {
      thread.start();
    }
    together.countDown();
    for (Thread thread : threads) {
      thread.join();
    }

    assertSeen(window, SECOND - 1, 40_000, 20_000);
  }

  private static void countAfter(CountDownLatch latch, Breaker.Closed window) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
    for (int i = 0; i < 10_000; i++) {
      window.count(i % 10 * TENTH, i % 2 == 0);
    }
  }

  private static void assertSeen(Breaker.Closed window, long now, long calls, long failures) {
    assertThat(window.calls(now)).as("calls").isEqualTo(calls);
    assertThat(window.failures(now)).as("failures").isEqualTo(failures);
  }
}
