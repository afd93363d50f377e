// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import java.time.Duration;
import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;

/** A clock that the test moves. */
final class ManualTiming implements Timing {

  private record Task(long due, FutureTask<?> work) {}

  private final PriorityQueue<Task> tasks = new PriorityQueue<>(Comparator.comparing(Task::due));
  private long nowNanos;

  @Override
  public long nanos() {
    return nowNanos;
  }

  @Override
  public Future<?> schedule(Runnable task, long nanos) {
    FutureTask<?> work = new FutureTask<>(task, null);
    tasks.add(new Task(nowNanos + nanos, work));
    return work;
  }

  /** Runs all that is due meanwhile, each at its time. */
  void pass(Duration time) {
    long end = nowNanos + time.toNanos();
    while (!tasks.isEmpty() && tasks.peek().due() <= end) {
      Task next = tasks.remove();
      nowNanos = Math.max(nowNanos, next.due());
      next.work().run();
    }
    nowNanos = end;
  }

  /** The tasks that wait. */
  long pending() {
    return tasks.stream().filter(task -> !task.work().isDone()).count();
  }
}
