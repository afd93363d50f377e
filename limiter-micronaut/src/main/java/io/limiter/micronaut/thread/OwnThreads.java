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
 * Threads of the limiter's own: one for each continuation that runs. The application's executors
 * may have few threads, all of which wait for a call of a limited method, and what that goes on
 * with would wait for them. So there is no queue here and no bound but the number of calls on their
 * way. Virtual threads where they cannot hold the few threads that carry them all; else threads
 * that are kept for ten seconds.
 */
@Singleton
final class OwnThreads implements Continuations {

  private static final String NAME = "limiter-call-";
  private static final long KEPT_SECONDS = 10;

  /**
   * Up to Java 23 a virtual thread that waits while it holds a monitor holds its carrier too, of
   * which there are as many as processors: callers on virtual threads could hold all of them.
   */
  private static final int CARRIERS_ARE_FREE = 24;

  private final ThreadFactory factory;
  private final @Nullable ThreadPoolExecutor cached;

  OwnThreads() {
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

  /** What comes yet has a thread of its own: a call that is not gone on with would never end. */
  @PreDestroy
  void close() {
    if (cached != null) {
      cached.shutdown();
    }
  }
}
