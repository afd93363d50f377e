// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.thread;

import io.micronaut.core.propagation.PropagatedContext;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/**
 * Runs the tasks of one connection one after another, on the threads of an executor, in the order
 * in which its event loop would. The connection is not read while many tasks wait.
 */
final class OrderedExecutor implements Executor {

  private static final int MANY = 256;

  private final Executor threads;
  private final ReadControl reading;
  private final Queue<Runnable> waiting = new ArrayDeque<>();
  private boolean running;
  private boolean paused;

  /** Pauses and resumes reading a connection. Neither method blocks. */
  interface ReadControl {
    void set(boolean on);
  }

  OrderedExecutor(Executor threads, ReadControl reading) {
    this.threads = threads;
    this.reading = reading;
  }

  @Override
  public void execute(Runnable task) {
    boolean begins;
    synchronized (this) {
      waiting.add(PropagatedContext.wrapCurrent(task));
      begins = !running;
      running = true;
      if (waiting.size() >= MANY && !paused) {
        paused = true;
        reading.set(false);
      }
    }
    if (begins) {
      begin();
    }
  }

  private void begin() {
    try {
      threads.execute(this::next);
    } catch (RejectedExecutionException closed) {
      synchronized (this) {
        waiting.clear();
        running = false;
      }
      throw closed;
    }
  }

  /** Runs one task at a time, so that other connections have their turn. */
  private void next() {
    Runnable task;
    synchronized (this) {
      task = waiting.remove();
      if (paused && waiting.size() < MANY / 2) {
        paused = false;
        reading.set(true);
      }
    }
    try {
      task.run();
    } finally {
      boolean more;
      synchronized (this) {
        more = !waiting.isEmpty();
        running = more;
      }
      if (more) {
        begin();
      }
    }
  }
}
