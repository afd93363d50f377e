// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.engine;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Calls without a pause, with a fixed number in flight: each completion starts the next call on its
 * thread. Calls that are answered at once go on elsewhere, so that they do not keep that thread
 * from its work. The client's own processor time is a part of the measurement.
 */
final class CallsInFlight {

  private static final long PATIENCE_SECONDS = 30;

  private final Contender.Call call;
  private final int subjects;
  private final long calls;
  private final long end;
  private final Executor threads;
  private final AtomicInteger next = new AtomicInteger();
  private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
  private final CountDownLatch running;

  private CallsInFlight(
      Contender.Call call, int subjects, int inFlight, long calls, long end, Executor threads) {
    this.call = call;
    this.subjects = subjects;
    this.calls = calls;
    this.end = end;
    this.threads = threads;
    this.running = new CountDownLatch(inFlight);
  }

  /**
   * The result.
   *
   * @param calls how many were answered
   * @param nanos the time they took
   */
  record Done(long calls, long nanos) {

    double perSecond() {
      return calls * 1e9 / nanos;
    }
  }

  /** Calls for some time, by subjects in turn. */
  static Done during(Duration time, int inFlight, int subjects, Contender.Call call)
      throws Exception {
    return during(time, inFlight, subjects, call, Runnable::run);
  }

  /** The same, where these threads begin, and make the calls that are answered at once. */
  static Done during(
      Duration time, int inFlight, int subjects, Contender.Call call, Executor threads)
      throws Exception {
    return run(call, subjects, inFlight, Integer.MAX_VALUE, time, threads);
  }

  /** This number of calls, by subjects in turn. */
  static Done times(int calls, int inFlight, int subjects, Contender.Call call) throws Exception {
    return run(call, subjects, inFlight, calls, Duration.ofHours(1), Runnable::run);
  }

  private static Done run(
      Contender.Call call, int subjects, int inFlight, int calls, Duration time, Executor threads)
      throws Exception {
    long begin = System.nanoTime();
    CallsInFlight load =
        new CallsInFlight(call, subjects, inFlight, calls, begin + time.toNanos(), threads);
    for (int i = 0; i < inFlight; i++) {
      threads.execute(() -> load.go(true));
    }
    boolean ended = load.running.await(time.toSeconds() + PATIENCE_SECONDS, TimeUnit.SECONDS);
    long nanos = System.nanoTime() - begin;
    Throwable failed = load.failure.get();
    if (failed != null || !ended) {
      throw new IllegalStateException(
          "A call was not decided: " + (failed == null ? "no answer" : failed.toString()), failed);
    }
    return new Done(Math.min(load.next.get() - (long) inFlight, calls), nanos);
  }

  /** Starts calls until one is not answered at once, or, on a foreign thread, until one is. */
  private void go(boolean own) {
    while (true) {
      int number = next.getAndIncrement();
      if (number >= calls || failure.get() != null || System.nanoTime() - end > 0) {
        running.countDown();
        return;
      }
      CompletableFuture<?> answer;
      try {
        answer = call.send(number % subjects).toCompletableFuture();
      } catch (RuntimeException failure) {
        answer = CompletableFuture.failedFuture(failure);
      }
      if (!answer.isDone() || answer.isCompletedExceptionally()) {
        var unused =
            answer.whenComplete(
                (value, failed) -> {
                  if (failed != null) {
                    failure.compareAndSet(null, failed);
                  }
                  go(false);
                });
        return;
      }
      if (!own) {
        threads.execute(() -> go(true));
        return;
      }
    }
  }
}
