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
 * Says when: to calls that wait for their turn, and to those that hold a lease. One thread for all
 * of them, which never waits; there is none before the first. It holds one entry for each such call
 * and forgets it as soon as that is cancelled.
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
            new ThreadPoolExecutor.DiscardPolicy()); // what is due after the end is not done
    executor.setRemoveOnCancelPolicy(true);
  }

  /**
   * Runs a task once, after so many nanoseconds.
   *
   * @param task must not wait, nor run code of the application
   */
  public Future<?> schedule(Runnable task, long nanos) {
    return executor.schedule(task, nanos, TimeUnit.NANOSECONDS);
  }

  @PreDestroy
  void close() {
    executor.shutdownNow();
  }
}
