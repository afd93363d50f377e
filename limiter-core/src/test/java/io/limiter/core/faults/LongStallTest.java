// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static io.limiter.core.faults.FaultBench.ANSWERED;
import static io.limiter.core.faults.FaultBench.HOUR;
import static io.limiter.core.faults.FaultBench.LETTUCE_THREADS;
import static io.limiter.core.faults.FaultBench.NOISE;
import static io.limiter.core.faults.FaultBench.call;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.testing.Pauses;
import java.time.Duration;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("faults")
class LongStallTest {

  private static final int PER_SECOND = 2_000;
  private static final long SECONDS = 10;
  private static final long MEGABYTE = 1 << 20;
  private static final Duration LATE = ANSWERED.multipliedBy(NOISE);

  /**
   * Records nothing of a call but its end, and those that are late, so that memory growth is not
   * the test's own.
   */
  @Test
  @DisplayName("F10: Redis stopped for ten seconds at 2,000 calls a second")
  void tenSecondsWithoutRedisCostNeitherThreadsNorMemory() {
    try (FaultBench bench = FaultBench.start()) {
      LimitRequest call = call("stall", 1_000_000, HOUR);
      AtomicLong pending = new AtomicLong();
      Queue<TimedVerdict> late = new ConcurrentLinkedQueue<>();
      Pauses.watch();
      bench.store.forgetCalls();
      send(bench, call, PER_SECOND, pending, late);
      int threads = Thread.activeCount();
      bench.redis.suspend();
      send(bench, call, 3 * PER_SECOND, pending, late);
      bench.store.forgetCalls();
      long before = heap();
      for (int i = 0; i < SECONDS; i++) {
        send(bench, call, PER_SECOND, pending, late);
        assertThat(pending.get()).isLessThanOrEqualTo(PER_SECOND);
        bench.store.forgetCalls();
      }
      long after = heap();

      assertThat(Thread.activeCount()).as("threads").isLessThanOrEqualTo(threads + LETTUCE_THREADS);
      assertThat(after - before).as("growth of the heap").isLessThan(10 * MEGABYTE);
      await().until(() -> pending.get() == 0);
      assertThat(late).allMatch(answer -> answer.latency().compareTo(LATE) < 0);
      bench.redis.resume();
      bench.assertHeals();
    }
  }

  private static void send(
      FaultBench bench,
      LimitRequest call,
      int calls,
      AtomicLong pending,
      Queue<TimedVerdict> late) {
    long interval = TimeUnit.SECONDS.toNanos(1) / PER_SECOND;
    long next = System.nanoTime();
    for (int i = 0; i < calls; i++) {
      long sent = System.nanoTime();
      pending.incrementAndGet();
      bench
          .limiter
          .decide(call, Mode.ACQUIRE)
          .whenComplete(
              (verdict, failure) -> {
                long answered = System.nanoTime();
                if (answered - sent > LATE.toNanos()) {
                  late.add(new TimedVerdict("stall", sent, answered, Optional.empty()));
                }
                pending.decrementAndGet();
              });
      next += interval;
      while (next - System.nanoTime() > 0) {
        LockSupport.parkNanos(Math.max(1, next - System.nanoTime()));
      }
    }
  }

  private static long heap() {
    System.gc();
    System.gc();
    Runtime runtime = Runtime.getRuntime();
    return runtime.totalMemory() - runtime.freeMemory();
  }
}
