// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import java.net.URI;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A built-in generator, on one thread of this process, for machines without wrk. It takes more of
 * the processors than wrk, so that ratios are nearer to 1.
 */
final class ClosedLoop implements Generator {

  /** A request without an answer this long after the end never gets one. */
  private static final int GRACE_SECONDS = 5;

  private final int connections;

  ClosedLoop(int connections) {
    this.connections = connections;
  }

  @Override
  public String name() {
    return "a closed loop in Java, with " + connections + " connections on one thread";
  }

  @Override
  public LoadResult run(URI uri, double seconds) {
    Run run = new Run((long) (seconds * 1e9));
    try (ConnectionPool pool = ConnectionPool.open(uri, connections, run)) {
      pool.execute(() -> run.begin(pool));
      long nanos = run.over.get((long) seconds + GRACE_SECONDS, TimeUnit.SECONDS);
      return run.answers.over(nanos / 1e9, 0);
    } catch (TimeoutException silent) {
      throw new IllegalStateException(
          "%s leaves requests without an answer for %s s: see what it logs"
              .formatted(uri, GRACE_SECONDS),
          silent);
    } catch (ExecutionException e) {
      throw new IllegalStateException(uri + " cannot be asked", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while " + uri + " was asked", e);
    }
  }

  private static final class Run implements HttpConnection.Listener {

    /** Completes with the time that all of it took, in nanoseconds. */
    private final CompletableFuture<Long> over = new CompletableFuture<>();

    private final AnswerTimes answers = new AnswerTimes();
    private final long nanos;
    private long begin;
    private int asking;

    Run(long nanos) {
      this.nanos = nanos;
    }

    void begin(ConnectionPool connections) {
      begin = System.nanoTime();
      asking = connections.all().size();
      connections.all().forEach(connection -> connection.send(begin));
    }

    @Override
    public void answered(HttpConnection connection, int status, long due) {
      long now = System.nanoTime();
      answers.add(status, now - due);
      if (now - begin < nanos) {
        connection.send(now);
      } else {
        ended();
      }
    }

    @Override
    public void lost(HttpConnection connection, boolean asked) {
      if (asked) {
        answers.error();
        ended();
      }
    }

    private void ended() {
      asking--;
      if (asking == 0) {
        over.complete(System.nanoTime() - begin);
      }
    }
  }
}
