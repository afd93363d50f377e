// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import java.net.URI;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;

/**
 * Requests at a steady rate, whether or not earlier ones are answered, like those of independent
 * callers. Each uses a connection that is free at that time, and waits for one if there is none.
 * Its time counts from the moment at which it was due, so that delays of the generator are a part
 * of every figure instead of hidden.
 */
public final class OpenLoop {

  private static final int CONNECTIONS = 64;

  /** What is not answered this long after the end is an error. */
  private static final int GRACE_SECONDS = 10;

  /** Shorter parks are not worth their cost. */
  private static final long MIN_PARK_NANOS = 20_000;

  private OpenLoop() {}

  /** Receives answers, on one thread. */
  @FunctionalInterface
  public interface Listener {

    /**
     * @param status of the answer
     * @param nanos from the moment at which the request was due
     */
    void answered(int status, long nanos);
  }

  /**
   * Returns when all are answered, or were given up.
   *
   * @param rate requests in a second
   */
  static LoadResult run(URI uri, double rate, double seconds) {
    return run(uri, rate, seconds, CONNECTIONS, (status, nanos) -> {});
  }

  /**
   * The same, with each answer.
   *
   * @param count of connections
   * @param listener receives the answers
   */
  public static LoadResult run(URI uri, double rate, double seconds, int count, Listener listener) {
    long total = Math.max(1, (long) (rate * seconds));
    Run run = new Run(total, listener);
    try (ConnectionPool connections = ConnectionPool.open(uri, count, run)) {
      run.idle.addAll(connections.all());
      pace(run, connections, 1e9 / rate);
      return run.result(connections, seconds);
    }
  }

  /** On the caller's thread, since a loop's timer is too coarse. */
  private static void pace(Run run, ConnectionPool connections, double intervalNanos) {
    long start = System.nanoTime();
    long sent = 0;
    while (sent < run.total) {
      long now = System.nanoTime();
      long due = Math.min(run.total, 1 + (long) ((now - start) / intervalNanos));
      if (due > sent) {
        long from = sent;
        connections.execute(
            () -> {
              for (long i = from; i < due; i++) {
                run.send(start + (long) (i * intervalNanos));
              }
            });
        sent = due;
      }
      long next = start + (long) (sent * intervalNanos) - System.nanoTime();
      LockSupport.parkNanos(Math.max(MIN_PARK_NANOS, next));
    }
  }

  private static final class Run implements HttpConnection.Listener {

    private final CompletableFuture<Void> over = new CompletableFuture<>();
    private final AnswerTimes answers = new AnswerTimes();
    private final long total;
    private final Listener listener;

    // All of these belong to the loop's thread once it runs.
    private final Queue<HttpConnection> idle = new ArrayDeque<>();
    private final Queue<Long> waiting = new ArrayDeque<>(); // at most total
    private long ended;

    Run(long total, Listener listener) {
      this.total = total;
      this.listener = listener;
    }

    void send(long due) {
      HttpConnection free = idle.poll();
      if (free == null) {
        waiting.add(due);
      } else {
        free.send(due);
      }
    }

    @Override
    public void answered(HttpConnection connection, int status, long due) {
      long nanos = System.nanoTime() - due;
      answers.add(status, nanos);
      listener.answered(status, nanos);
      Long next = waiting.poll();
      if (next == null) {
        idle.add(connection);
      } else {
        connection.send(next);
      }
      ended();
    }

    @Override
    public void lost(HttpConnection connection, boolean asked) {
      idle.remove(connection);
      if (asked) {
        answers.error();
        ended();
      }
    }

    private void ended() {
      ended++;
      if (ended == total) {
        over.complete(null);
      }
    }

    LoadResult result(ConnectionPool connections, double seconds) {
      try {
        over.get(GRACE_SECONDS, TimeUnit.SECONDS);
      } catch (TimeoutException late) {
        // Missing answers count as errors, below.
      } catch (ExecutionException e) {
        throw new IllegalStateException("The answers cannot be counted", e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException("Interrupted while answers were awaited", e);
      }
      CompletableFuture<LoadResult> load = new CompletableFuture<>();
      connections.execute(() -> load.complete(answers.over(seconds, total - ended)));
      return load.join();
    }
  }
}
