// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.overload;

import io.limiter.benchmarks.Benchmarks;
import io.limiter.benchmarks.Options;
import io.limiter.benchmarks.Report;
import io.limiter.benchmarks.Spread;
import io.limiter.benchmarks.Table;
import io.limiter.benchmarks.Turns;
import io.limiter.benchmarks.http.LoadResult;
import io.limiter.benchmarks.http.OpenLoop;
import io.limiter.benchmarks.http.Wrk;
import io.limiter.benchmarks.process.JavaProcess;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * A service with a slow dependency, in a process of its own, and generators on the same processors:
 * one that sends at a steady rate, whatever it is answered, and wrk, which repeats at once.
 */
final class RealService {

  static final String GOODPUT = "A real service";
  static final String RECOVERY = "A real service whose dependency was ten times as slow";
  static final String COST = "What a request costs where none is rejected";

  private static final String WITH = "with limiter-overload";
  private static final String WITHOUT = "without";
  private static final String PER_SECOND = "requests/s";
  private static final String MICROS = "µs";

  private static final double CAPACITY = 1_000.0 * SlowService.PLACES / SlowService.MILLIS;
  private static final double CRITICAL = 0.1 * CAPACITY;
  private static final long IN_TIME = TimeUnit.MILLISECONDS.toNanos(10 * SlowService.MILLIS);
  private static final int CONNECTIONS = 1_024;
  private static final int CLOSED_CONNECTIONS = 256;
  private static final int FEW_CONNECTIONS = 32;

  /** Of the capacity, while code is compiled. */
  private static final double WARM = 0.8;

  private final Options options;
  private final Report report;
  private final int seconds; // for one load; a third of it is not counted
  private final int warmUp;

  RealService(Options options, Report report) {
    this.options = options;
    this.report = report;
    this.seconds = options.number("seconds", options.quick() ? 2 : 30);
    this.warmUp = Math.max(1, seconds / 3);
  }

  void measure() throws Exception {
    report.table(goodput());
    report.table(recovery());
    if (Wrk.isInstalled()) {
      report.table(cost());
    }
  }

  /** The answers to one kind of requests. One thread adds, and reads once all are there. */
  private static final class Answers implements OpenLoop.Listener {

    private final long begin = System.nanoTime();
    private final int counted;
    private final List<Integer> good = new ArrayList<>();
    private final List<Double> millis = new ArrayList<>();
    private long all;

    /**
     * @param counted the first second whose answers have a latency, and are admitted or not
     */
    Answers(int counted) {
      this.counted = counted;
    }

    @Override
    public void answered(int status, long nanos) {
      int second = (int) TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begin);
      if (second >= counted) {
        all++;
      }
      if (status == 200) {
        while (good.size() <= second) {
          good.add(0);
        }
        if (second >= counted) {
          millis.add(nanos / 1e6);
        }
        if (nanos <= IN_TIME) {
          good.set(second, good.get(second) + 1);
        }
      }
    }

    /** In a second, from one second to another. */
    double good(int from, int to) {
      int last = Math.min(to, good.size());
      return last <= from
          ? 0
          : good.subList(from, last).stream().mapToInt(count -> count).sum() / (double) (to - from);
    }

    double admitted() {
      return all == 0 ? 0 : (double) millis.size() / all;
    }

    double p99() {
      Collections.sort(millis);
      return millis.isEmpty() ? 0 : millis.get((int) (0.99 * millis.size()));
    }
  }

  private JavaProcess start(boolean limited) {
    JavaProcess service =
        JavaProcess.start(
            "The service",
            List.of(),
            List.of(
                "-Xms512m",
                "-Xmx512m",
                "-cp",
                System.getProperty("java.class.path"),
                Benchmarks.class.getName(),
                "overload",
                "--serve",
                limited ? "limited" : "unlimited"),
            Map.of());
    var unusedTime = service.awaitOk("/call");
    var unused = load(service, "/call", WARM * CAPACITY, warmUp, (status, nanos) -> {});
    return service;
  }

  private static LoadResult load(
      JavaProcess service, String path, double rate, double time, OpenLoop.Listener listener) {
    return OpenLoop.run(service.uri(path), rate, time, CONNECTIONS, listener);
  }

  /** In a thread of its own. */
  private static <T> CompletableFuture<T> meanwhile(Supplier<T> task) {
    CompletableFuture<T> result = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                result.complete(task.get());
              } catch (RuntimeException failed) {
                result.completeExceptionally(failed);
              }
            },
            "load");
    thread.setDaemon(true);
    thread.start();
    return result;
  }

  private Table goodput() {
    Table table =
        new Table(
                GOODPUT,
                "load",
                "goodput",
                "p99 ms",
                "rejected/s",
                "critical admitted",
                "critical p99 ms")
            .note(
                "Answers within %s ms, as a share of what its dependency can serve, %s calls of %s ms at a time. A tenth of that is of the highest criticality. The generator runs on the same machine, and does not wait."
                    .formatted(IN_TIME / 1_000_000, SlowService.PLACES, SlowService.MILLIS));
    for (boolean limited : List.of(true, false)) {
      for (double load : List.of(0.8, 2.0, 10.0)) {
        String name = load + " of the capacity" + (limited ? "" : ", without limiter-overload");
        row(table, name, limited, service -> open(service, load));
      }
      if (Wrk.isInstalled()) {
        String name = new Wrk(CLOSED_CONNECTIONS).name();
        row(table, name + (limited ? "" : ", without limiter-overload"), limited, this::closed);
      } else {
        report.progress("wrk is not installed, and skipped");
      }
    }
    return table;
  }

  /** What one load has seen, beside the critical calls. */
  private record Seen(double good, String p99, double rejected) {}

  private interface Load {
    Seen on(JavaProcess service);
  }

  private void row(Table table, String name, boolean limited, Load load) {
    try (JavaProcess service = start(limited)) {
      Answers critical = new Answers(warmUp);
      CompletableFuture<LoadResult> beside =
          meanwhile(() -> load(service, "/critical", CRITICAL, seconds, critical));
      Seen seen = load.on(service);
      var unused = beside.join();
      double good = seen.good() + critical.good(warmUp, seconds);
      table.row(
          name,
          text(good / CAPACITY, 2),
          seen.p99(),
          text(seen.rejected(), 0),
          text(critical.admitted(), 3),
          text(critical.p99(), 0));
    } catch (CompletionException failed) {
      throw new IllegalStateException(name + " fails", failed);
    }
  }

  private Seen open(JavaProcess service, double load) {
    Answers answers = new Answers(warmUp);
    LoadResult result = load(service, "/call", load * CAPACITY - CRITICAL, seconds, answers);
    return new Seen(
        answers.good(warmUp, seconds), text(answers.p99(), 0), result.denied() / (double) seconds);
  }

  /** It does not tell which answers came in time; most do. */
  private Seen closed(JavaProcess service) {
    LoadResult result = new Wrk(CLOSED_CONNECTIONS).run(service.uri("/call"), seconds);
    double good = (result.answers() - result.denied()) / (double) seconds;
    return new Seen(good, "", result.denied() / (double) seconds);
  }

  private Table recovery() {
    Table table =
        new Table(RECOVERY, "load", "before", "after 1 s", "2 s", "3 s", "5 s", "10 s")
            .note(
                "Answers in time, as a share of what the dependency can serve: before it is slow for %s s, and in the seconds since it is not. The load is twice the capacity."
                    .formatted(seconds));
    for (boolean limited : List.of(true, false)) {
      int after = warmUp + seconds;
      try (JavaProcess service = start(limited)) {
        Answers answers = new Answers(warmUp);
        CompletableFuture<LoadResult> load =
            meanwhile(() -> load(service, "/call", 2 * CAPACITY, after + 11, answers));
        sleep(warmUp);
        require(service.status("/slow/10"));
        sleep(seconds);
        require(service.status("/slow/1"));
        var unused = load.join();
        List<Object> row =
            new ArrayList<>(List.of(limited ? "twice" : "twice, without limiter-overload"));
        row.add(text(answers.good(warmUp / 2, warmUp) / CAPACITY, 2));
        for (int second : List.of(1, 2, 3, 5, 10)) {
          row.add(text(answers.good(after + second, after + second + 1) / CAPACITY, 2));
        }
        table.row(row.toArray());
      }
    }
    return table;
  }

  /** A route that does nothing, of two services that are asked in turn. */
  private Table cost() throws Exception {
    Table table =
        new Table(COST, "service", "requests/s", "÷ without", "processor µs", "µs more")
            .note("A route that does nothing, %s connections of wrk.".formatted(FEW_CONNECTIONS));
    try (JavaProcess with = start(true);
        JavaProcess without = start(false)) {
      Turns.Results results =
          new Turns(options).add(WITH, () -> idle(with)).add(WITHOUT, () -> idle(without)).run();
      List<Double> more = new ArrayList<>();
      for (int round = 0; round < options.rounds(); round++) {
        more.add(
            results.values(WITH, MICROS).get(round) - results.values(WITHOUT, MICROS).get(round));
      }
      for (String name : results.names()) {
        boolean limited = name.equals(WITH);
        table.row(
            name,
            results.value(name, PER_SECOND),
            limited ? results.ratio(name, WITHOUT, PER_SECOND) : "",
            results.value(name, MICROS),
            limited ? Spread.of(more) : "");
      }
    }
    return table;
  }

  private Map<String, Double> idle(JavaProcess service) {
    double time = Math.max(1, seconds / 10.0);
    Duration before = service.processorTime().orElseThrow();
    LoadResult result = new Wrk(FEW_CONNECTIONS).run(service.uri("/idle"), time);
    Duration used = service.processorTime().orElseThrow().minus(before);
    return Map.of(
        PER_SECOND, result.perSecond(), MICROS, used.toNanos() / 1_000.0 / result.answers());
  }

  private static void require(int status) {
    if (status != 200) {
      throw new IllegalStateException(
          "The service answers %s where its dependency is to be slower".formatted(status));
    }
  }

  private static void sleep(int seconds) {
    try {
      TimeUnit.SECONDS.sleep(seconds);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted during the load", e);
    }
  }

  private static String text(double value, int digits) {
    return String.format(Locale.ROOT, "%." + digits + "f", value);
  }
}
