// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.engine;

import com.sun.management.OperatingSystemMXBean;
import io.lettuce.core.RedisURI;
import io.limiter.benchmarks.BenchRedis;
import io.limiter.benchmarks.Goal;
import io.limiter.benchmarks.Mode;
import io.limiter.benchmarks.Options;
import io.limiter.benchmarks.RedisTime;
import io.limiter.benchmarks.Report;
import io.limiter.benchmarks.Spread;
import io.limiter.benchmarks.Table;
import io.limiter.benchmarks.Turns;
import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.redis.LoopConnections;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisStore;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Decisions that share a command, beside the same decisions each of which is a command. Both make
 * the same number of calls in one turn of an event loop, which leave in one packet, and begin the
 * next turn when all are answered. So what differs is the commands alone.
 */
public final class BatchMode implements Mode {

  private static final int SUBJECTS = 10_000;
  private static final int QUICK_SUBJECTS = 100;

  /** Calls that every subject has made before. */
  private static final int CALLS_BEFORE = 10;

  private static final int MOST = RedisSettings.MAX_BATCH_SIZE;
  private static final List<Integer> SIZES = List.of(1, 2, 4, 8, MOST);
  private static final List<String> POLICIES =
      List.of(Stacks.LOG, "token bucket, 2 rules", "sliding window counter, 2 rules");
  private static final Duration DEADLINE = Duration.ofSeconds(10);

  private static final String PROCESSOR = "µs of the process";
  private static final String COMMAND = "µs a command";
  private static final String CLIENT = "µs of the client";
  private static final String MEDIAN = "median, µs";
  private static final String P99 = "p99, µs";

  private static final int GOAL_FROM = 8;
  private static final double OF_ALONE = 0.55;
  private static final double MOST_MICROS = 150;

  @Override
  public String name() {
    return "batch";
  }

  @Override
  public String help() {
    return "what a decision takes of Redis and of the client if several share a command";
  }

  @Override
  public void run(Options options, Report report) throws Exception {
    report.library("io.lettuce", "lettuce-core");
    MultiThreadIoEventLoopGroup group =
        new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    EventLoop loop = (EventLoop) group.iterator().next();
    try (BenchRedis redis = BenchRedis.open(options, report);
        Callers alone = Callers.open(redis, loop, 1);
        Callers together = Callers.open(redis, loop, MOST)) {
      int subjects = options.quick() ? QUICK_SUBJECTS : SUBJECTS;
      for (Policy policy : Stacks.all()) {
        if (POLICIES.contains(policy.name())) {
          report.table(batches(policy, subjects, redis, alone, together, options));
        }
      }
      report.table(light(subjects, redis, alone, together, options));
    } finally {
      var unused = group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }
  }

  private static String name(int size, boolean shared) {
    return "%s, %s".formatted(size, shared ? "shared" : "each a command");
  }

  private static Table batches(
      Policy policy,
      int subjects,
      BenchRedis redis,
      Callers alone,
      Callers together,
      Options options)
      throws Exception {
    LimitRequest[] requests = requests(policy, subjects);
    Turns turns = new Turns(options);
    for (int size : SIZES) {
      for (boolean shared : List.of(false, true)) {
        turns.add(
            name(size, shared),
            () -> {
              redis.deleteKeys();
              if (!options.quick()) {
                var unused = together.times(CALLS_BEFORE * subjects / MOST, requests, MOST);
              }
              return measure(shared ? together : alone, requests, size, redis, options);
            });
      }
    }
    Turns.Results found = turns.run();
    Table table =
        new Table(
                "Decisions that share a command: " + policy.name(),
                "calls in a turn",
                PROCESSOR,
                "÷ each a command",
                "goal",
                COMMAND,
                CLIENT,
                "client ÷ each a command")
            .lessIsBetter("÷ each a command", "client ÷ each a command");
    for (int size : SIZES) {
      String single = name(size, false);
      String shared = name(size, true);
      table.row(
          single,
          found.value(single, PROCESSOR),
          "",
          "",
          found.value(single, COMMAND),
          found.value(single, CLIENT),
          "");
      Spread ratio = found.ratio(shared, single, PROCESSOR);
      Spread micros = found.value(shared, COMMAND);
      table.row(
          shared,
          found.value(shared, PROCESSOR),
          ratio,
          size < GOAL_FROM
              ? ""
              : Goal.atMost(OF_ALONE, ratio) + ", " + Goal.atMost(MOST_MICROS, micros),
          micros,
          found.value(shared, CLIENT),
          found.ratio(shared, single, CLIENT));
    }
    return table.note(
        "%,d subjects in turn, each with %s calls before. The calls of a turn leave in one packet, and the next turn begins when all are answered. µs of the process, of a command and of the client as in `engine`; the first and the last are those of one decision. An estimate bounds the calls of a command: of rules with long logs, %s calls are two commands."
            .formatted(subjects, options.quick() ? 0 : CALLS_BEFORE, MOST));
  }

  private static Map<String, Double> measure(
      Callers callers, LimitRequest[] requests, int size, BenchRedis redis, Options options)
      throws Exception {
    long client = clientNanos();
    RedisTime before = RedisTime.read(redis.commands());
    long calls = callers.during(options.time(), requests, size).length * (long) size;
    RedisTime spent = RedisTime.read(redis.commands()).minus(before);
    return Map.of(
        PROCESSOR,
        spent.processor() * 1e6 / (double) calls,
        COMMAND,
        spent.microsPerDecision(spent.scripts(), Optional.empty()),
        CLIENT,
        (clientNanos() - client) / 1e3 / (double) calls);
  }

  /** Time of the processor that this process has taken. */
  private static long clientNanos() {
    return ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getProcessCpuTime();
  }

  /** One call at a time: whether waiting for others costs it anything. */
  private static Table light(
      int subjects, BenchRedis redis, Callers alone, Callers together, Options options)
      throws Exception {
    LimitRequest[] requests = requests(Stacks.logs(1), subjects);
    String single = "batch size 1";
    String shared = "batch size " + MOST;
    redis.deleteKeys();
    Turns turns = new Turns(options);
    turns.add(single, () -> latency(alone, requests, options));
    turns.add(shared, () -> latency(together, requests, options));
    Turns.Results found = turns.run();
    Table table =
        new Table("One call at a time", "setting", MEDIAN, P99, "median ÷", "p99 ÷")
            .lessIsBetter("median ÷", "p99 ÷");
    table.row(single, found.value(single, MEDIAN), found.value(single, P99), "", "");
    table.row(
        shared,
        found.value(shared, MEDIAN),
        found.value(shared, P99),
        found.ratio(shared, single, MEDIAN),
        found.ratio(shared, single, P99));
    return table.note("From the event loop's call of the store to its verdict; a log of one rule.");
  }

  private static Map<String, Double> latency(
      Callers callers, LimitRequest[] requests, Options options) throws Exception {
    long[] nanos = callers.during(options.time(), requests, 1);
    Arrays.sort(nanos);
    return Map.of(
        MEDIAN, nanos[nanos.length / 2] / 1e3, P99, nanos[(int) (0.99 * (nanos.length - 1))] / 1e3);
  }

  private static LimitRequest[] requests(Policy policy, int subjects) {
    LimitRequest[] requests = new LimitRequest[subjects];
    for (int i = 0; i < subjects; i++) {
      requests[i] = LimitRequest.of(policy, new Subject("user", "user-" + i));
    }
    return requests;
  }

  /** Callers on an event loop, with a connection of their own. */
  private record Callers(Limiter limiter, RedisStore store, EventLoop loop)
      implements AutoCloseable {

    static Callers open(BenchRedis redis, EventLoop loop, int batchSize) throws Exception {
      RedisSettings settings = new RedisSettings(redis.prefix(), DEADLINE).withBatchSize(batchSize);
      LoopConnections connections =
          LoopConnections.open(List.of(loop), RedisURI.create(redis.uri()), settings);
      if (!connections.firstAttempt().toCompletableFuture().get(10, TimeUnit.SECONDS)) {
        connections.close();
        throw new IllegalStateException("Redis does not answer at " + RedisURI.create(redis.uri()));
      }
      RedisStore store = new RedisStore(connections, settings);
      return new Callers(new Limiter(store), store, loop);
    }

    /** Turns for some time; the nanoseconds of each. */
    long[] during(Duration time, LimitRequest[] requests, int size) throws Exception {
      long end = System.nanoTime() + time.toNanos();
      return new Run(this, requests, size, Long.MAX_VALUE, end).get();
    }

    /** This number of turns; the nanoseconds of each. */
    long[] times(long turns, LimitRequest[] requests, int size) throws Exception {
      return new Run(this, requests, size, turns, System.nanoTime() + Duration.ofHours(1).toNanos())
          .get();
    }

    @Override
    public void close() {
      store.close();
    }
  }

  /** Turns of calls, one after another. All of it is on the event loop. */
  private static final class Run {

    private static final long PATIENCE_SECONDS = 60;

    private final Callers callers;
    private final LimitRequest[] requests;
    private final int size;
    private final long turns;
    private final long end;
    private final CompletableFuture<long[]> done = new CompletableFuture<>();
    private long[] nanos = new long[1 << 16];
    private int turn;
    private int next;
    private int unanswered;
    private long begin;

    Run(Callers callers, LimitRequest[] requests, int size, long turns, long end) {
      this.callers = callers;
      this.requests = requests;
      this.size = size;
      this.turns = turns;
      this.end = end;
    }

    long[] get() throws Exception {
      callers.loop().execute(this::go);
      return done.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
    }

    private void go() {
      begin = System.nanoTime();
      if (turn >= turns || begin - end > 0) {
        done.complete(Arrays.copyOf(nanos, turn));
        return;
      }
      unanswered = size;
      for (int i = 0; i < size; i++) {
        LimitRequest request = requests[next++ % requests.length];
        var unused = callers.limiter().acquire(request).whenComplete(this::answered);
      }
    }

    private void answered(@Nullable Verdict verdict, @Nullable Throwable failure) {
      if (failure != null || verdict == null || !verdict.allowed()) {
        done.completeExceptionally(
            new IllegalStateException(
                "A call was not admitted: measure for a shorter time", failure));
      } else if (--unanswered == 0) {
        if (turn == nanos.length) {
          nanos = Arrays.copyOf(nanos, 2 * turn);
        }
        nanos[turn++] = System.nanoTime() - begin;
        callers.loop().execute(this::go);
      }
    }
  }
}
