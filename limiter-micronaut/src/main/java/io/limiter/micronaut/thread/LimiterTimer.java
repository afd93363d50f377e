// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.thread;

import io.micronaut.core.annotation.Internal;
import jakarta.annotation.PreDestroy;
import jakarta.inject.Singleton;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Runs timed tasks: for calls that wait for their turn, for calls that hold a concurrency permit,
 * and to end waits for a decision. One thread runs all of them and never blocks; it is started with
 * the first task. A cancelled task is removed at once.
 */
@Internal
@Singleton
public final class LimiterTimer {

  private final ScheduledThreadPoolExecutor executor;

  LimiterTimer() {
    executor =
        new ScheduledThreadPoolExecutor(
            1,
            task -> {
              Thread thread = new Thread(task, "limiter-timer");
              thread.setDaemon(true);
              return thread;
            },
            new ThreadPoolExecutor
                .DiscardPolicy()); // tasks that are still due at shutdown are dropped
    executor.setRemoveOnCancelPolicy(true);
  }

  /**
   * Runs a task once, after a delay.
   *
   * @param task must not block or run code of the application
   */
  public Future<?> schedule(Runnable task, long nanos) {
    return executor.schedule(task, nanos, TimeUnit.NANOSECONDS);
  }

  @PreDestroy
  void close() {
    executor.shutdownNow();
  }
}
