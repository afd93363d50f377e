// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.overload.LocalConcurrency;
import io.limiter.overload.OverloadedException;
import io.micrometer.core.instrument.MeterRegistry;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.exceptions.HttpStatusException;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** Makes a database slow, and shows what a limit of calls in flight does then. */
@Controller("/page/database")
@Requires(missingProperty = Instances.BESIDE)
class DatabaseController {

  private static final String NAME = "database";
  private static final int CALLS_A_SECOND = 400;
  private static final Duration PHASE = Duration.ofSeconds(5);
  private static final int TIMES = 20;

  private final Database database;
  private final MeterRegistry meters;
  private final AtomicBoolean running = new AtomicBoolean();

  DatabaseController(Database database, MeterRegistry meters) {
    this.database = database;
    this.meters = meters;
  }

  /** Sixteen connections. What finds none free waits, however long. */
  @Singleton
  static class Database {

    private static final int CONNECTIONS = 16;
    private static final long MILLIS = 10;

    private final Queue<CompletableFuture<String>> waiting = new ArrayDeque<>();
    private int busy;
    private volatile int slower = 1;

    @LocalConcurrency(NAME)
    CompletionStage<String> ask(int key) {
      CompletableFuture<String> answer = new CompletableFuture<>();
      synchronized (waiting) {
        if (busy == CONNECTIONS) {
          waiting.add(answer);
          return answer;
        }
        busy++;
      }
      serve(answer);
      return answer;
    }

    private void serve(CompletableFuture<String> answer) {
      Executor later = CompletableFuture.delayedExecutor(MILLIS * slower, TimeUnit.MILLISECONDS);
      later.execute(
          () -> {
            answer.complete("row");
            CompletableFuture<String> next;
            synchronized (waiting) {
              next = waiting.poll();
              if (next == null) {
                busy--;
              }
            }
            if (next != null) {
              serve(next);
            }
          });
    }
  }

  /** The calls of one phase. */
  private static final class Phase {

    private final List<Long> millis = new ArrayList<>();
    private int rejected;

    synchronized void ended(long nanos, @Nullable Throwable failure) {
      Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
      if (cause instanceof OverloadedException) {
        rejected++;
      } else {
        millis.add(TimeUnit.NANOSECONDS.toMillis(nanos));
      }
    }

    synchronized Map<String, Object> view(String name, long limit) {
      List<Long> sorted = millis.stream().sorted().toList();
      Map<String, Object> view = new LinkedHashMap<>();
      view.put("name", name);
      view.put("answered", sorted.size());
      view.put("rejected", rejected);
      view.put("p50", sorted.isEmpty() ? 0 : sorted.get(sorted.size() / 2));
      view.put("p99", sorted.isEmpty() ? 0 : sorted.get(sorted.size() * 99 / 100));
      view.put("limit", limit);
      return view;
    }
  }

  /**
   * As usual, slow, and as usual again: the calls of each, and the limit at its end.
   *
   * @throws HttpStatusException 503, while this is under way
   */
  @Post("/slow")
  @ExecuteOn(TaskExecutors.BLOCKING)
  List<Map<String, Object>> slow(HttpRequest<?> request) {
    Here.require(request);
    if (!running.compareAndSet(false, true)) {
      throw new HttpStatusException(HttpStatus.SERVICE_UNAVAILABLE, "The database is slow already");
    }
    try {
      List<Map<String, Object>> phases = new ArrayList<>();
      phases.add(run("as usual", 1));
      phases.add(run("slow", TIMES));
      phases.add(run("as usual again", 1));
      return phases;
    } finally {
      database.slower = 1;
      running.set(false);
    }
  }

  private Map<String, Object> run(String name, int slower) {
    database.slower = slower;
    Phase phase = new Phase();
    List<CompletableFuture<?>> calls = new ArrayList<>();
    long begin = System.nanoTime();
    long pause = TimeUnit.SECONDS.toNanos(1) / CALLS_A_SECOND;
    for (long at = 0; at < PHASE.toNanos(); at += pause) {
      long due = begin + at;
      for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
        LockSupport.parkNanos(left);
      }
      long from = System.nanoTime();
      calls.add(
          database
              .ask(calls.size())
              .handle(
                  (row, failure) -> {
                    phase.ended(System.nanoTime() - from, failure);
                    return row;
                  })
              .toCompletableFuture());
    }
    long limit = limit();
    CompletableFuture.allOf(calls.toArray(CompletableFuture[]::new))
        .orTimeout(1, TimeUnit.MINUTES)
        .join();
    return phase.view(name, limit);
  }

  private long limit() {
    return Math.round(meters.get("limiter.overload.limit").tag("name", NAME).gauge().value());
  }
}
