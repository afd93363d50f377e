// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.thread;

import io.micronaut.scheduling.LoomSupport;
import jakarta.annotation.PreDestroy;
import jakarta.inject.Singleton;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The limiter's own threads: one for each running continuation. The few threads of an application's
 * executor may all wait for calls of limited methods, and continuations on that executor would then
 * wait for them. So this executor has no queue and no bound except the number of calls in flight.
 * It uses virtual threads where they cannot pin all of their carrier threads; otherwise threads
 * that are kept for ten seconds.
 */
@Singleton
final class ContinuationThreads implements Continuations {

  private static final String NAME = "limiter-call-";
  private static final long KEPT_SECONDS = 10;

  /**
   * Up to Java 23 a virtual thread that blocks while it holds a monitor pins its carrier thread.
   * There are as many carriers as processors, so callers on virtual threads could pin all of them.
   */
  private static final int CARRIERS_ARE_FREE = 24;

  private final ThreadFactory factory;
  private final @Nullable ThreadPoolExecutor cached;

  @SuppressWarnings("removal") // Java 17 has no method for it
  ContinuationThreads() {
    if (Runtime.version().feature() >= CARRIERS_ARE_FREE && LoomSupport.isSupported()) {
      factory = LoomSupport.newVirtualThreadFactory(NAME);
      cached = null;
    } else {
      AtomicLong numbers = new AtomicLong();
      factory = task -> daemon(task, numbers.incrementAndGet());
      cached =
          new ThreadPoolExecutor(
              0,
              Integer.MAX_VALUE,
              KEPT_SECONDS,
              TimeUnit.SECONDS,
              new SynchronousQueue<>(),
              factory,
              (task, closed) -> factory.newThread(task).start());
    }
  }

  private static Thread daemon(Runnable task, long number) {
    Thread thread = new Thread(task, NAME + number);
    thread.setDaemon(true);
    return thread;
  }

  @Override
  public void run(Runnable continuation) {
    if (cached != null) {
      cached.execute(continuation);
    } else {
      factory.newThread(continuation).start();
    }
  }

  /**
   * Later continuations still run, each on its own thread: otherwise their calls would never end.
   */
  @PreDestroy
  void close() {
    if (cached != null) {
      cached.shutdown();
    }
  }
}
