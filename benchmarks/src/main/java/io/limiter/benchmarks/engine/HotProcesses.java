// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.engine;

import io.lettuce.core.RedisURI;
import io.limiter.benchmarks.BenchRedis;
import io.limiter.benchmarks.RedisTime;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Limiter;
import io.limiter.core.lease.LeaseStore;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.redis.SharedConnection;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Processes that call for one subject at the same time. Each is a JVM of its own with a connection
 * and leases of its own. It reports over its standard output that it is warm, reads the time at
 * which to begin, and writes what it has done. The monotonic clock of a machine is the same in all
 * of its processes on Linux.
 */
final class HotProcesses {

  private static final Duration DEADLINE = Duration.ofSeconds(10);
  private static final Duration WARM_UP = Duration.ofMillis(1_500);

  /** How long after the last process is warm all of them begin. */
  private static final long AHEAD_NANOS = 50_000_000;

  private final int number;
  private final BenchRedis redis;
  private final Duration time;

  /**
   * @param number how many
   * @param time how long they call
   */
  HotProcesses(int number, BenchRedis redis, Duration time) {
    this.number = number;
    this.redis = redis;
    this.time = time;
  }

  /**
   * What they have done together.
   *
   * @param calls how many were decided in a second
   * @param scripts how many scripts Redis has run in a second
   */
  record Done(double calls, double scripts, Admissions admissions) {}

  /**
   * @param kind the name of a kind of rule
   * @param count of the rule, in a window
   * @param lease how long a lease lasts; zero for none
   */
  Done run(String kind, long count, Duration window, Duration lease) throws Exception {
    redis.deleteKeys();
    List<Process> processes = new ArrayList<>();
    try {
      for (int p = 0; p < number; p++) {
        processes.add(
            start(
                redis.uri(),
                redis.prefix(),
                kind,
                Long.toString(count),
                window.toString(),
                lease.toString(),
                time.toString()));
      }
      List<DataInputStream> results = new ArrayList<>();
      for (Process process : processes) {
        DataInputStream result = new DataInputStream(process.getInputStream());
        results.add(result);
        var unusedReady = result.readByte();
      }
      RedisTime before = RedisTime.read(redis.commands());
      Admissions admissions = Admissions.by(redis, time, System.nanoTime() + AHEAD_NANOS);
      for (Process process : processes) {
        try (DataOutputStream begin = new DataOutputStream(process.getOutputStream())) {
          begin.writeLong(admissions.origin());
        }
      }
      double calls = 0;
      for (DataInputStream result : results) {
        calls += result.readDouble();
        admissions.read(result);
      }
      double scripts = RedisTime.read(redis.commands()).minus(before).scripts();
      return new Done(calls, scripts * 1e9 / (double) time.toNanos(), admissions);
    } finally {
      processes.forEach(Process::destroyForcibly);
    }
  }

  private static Process start(String... arguments) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.add(HotProcesses.class.getName());
    command.addAll(List.of(arguments));
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
  }

  /** One of the processes. */
  public static void main(String[] arguments) throws Exception {
    PrintStream standard = System.out;
    System.setOut(System.err); // what a library prints is no result
    RedisURI uri = RedisURI.create(arguments[0]);
    RedisSettings settings = new RedisSettings(arguments[1], DEADLINE);
    HotMode.Kind kind = HotMode.kind(arguments[2]);
    long count = Long.parseLong(arguments[3]);
    Duration window = Duration.parse(arguments[4]);
    Duration lease = Duration.parse(arguments[5]);
    Duration time = Duration.parse(arguments[6]);
    ExecutorService threads = Executors.newFixedThreadPool(HotMode.THREADS);
    try (SharedConnection connection = SharedConnection.open(uri, settings);
        LimitStore redis = new RedisStore(connection, settings);
        LimitStore store = lease.isZero() ? redis : new LeaseStore(redis)) {
      if (!connection.firstAttempt().toCompletableFuture().get(10, TimeUnit.SECONDS)) {
        throw new IllegalStateException("Redis does not answer at " + uri);
      }
      Limiter limiter = new Limiter(store);
      LimitRequest other = HotMode.request(kind, count, window, lease, "warm-up");
      CallsInFlight.during(
          time.compareTo(WARM_UP) < 0 ? time : WARM_UP,
          Comparison.IN_FLIGHT,
          1,
          subject -> limiter.acquire(other),
          threads);
      standard.write(1);
      standard.flush();
      long origin = new DataInputStream(System.in).readLong();
      Admissions admissions = new Admissions(origin, 0, 0, time);
      TimeUnit.NANOSECONDS.sleep(origin - System.nanoTime());
      CallsInFlight.Done done =
          CallsInFlight.during(
              time,
              Comparison.IN_FLIGHT,
              1,
              HotMode.recorded(
                  limiter, HotMode.request(kind, count, window, lease, "user-1"), admissions),
              threads);
      try (DataOutputStream out = new DataOutputStream(new BufferedOutputStream(standard))) {
        out.writeDouble(done.perSecond());
        admissions.write(out);
      }
    } finally {
      threads.shutdownNow();
    }
  }
}
