// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.engine;

import io.limiter.benchmarks.BenchRedis;
import io.limiter.benchmarks.Goal;
import io.limiter.benchmarks.Report;
import io.limiter.benchmarks.Spread;
import io.limiter.benchmarks.Table;
import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import java.util.List;

/** The memory of a subject in Redis, and of each additional unit. */
final class Bytes {

  private static final int FEW = 10;
  private static final int MANY = 1_000;
  private static final double BYTES_A_UNIT = 12;

  private final BenchRedis redis;
  private final Limiter limiter;
  private final Report report;

  Bytes(BenchRedis redis, Limiter limiter, Report report) {
    this.redis = redis;
    this.limiter = limiter;
    this.report = report;
  }

  void run() throws Exception {
    Table table =
        new Table(
                "What a subject takes of Redis' memory",
                "rules",
                "bytes after %s calls".formatted(FEW),
                "bytes after %,d".formatted(MANY),
                "bytes a unit",
                "goal")
            .lessIsBetter("bytes after %s calls".formatted(FEW), "bytes after %,d".formatted(MANY));
    for (Policy policy : Stacks.all()) {
      long few = after(policy, FEW);
      long many = after(policy, MANY);
      Spread unit = Spread.of(List.of((double) (many - few) / (MANY - FEW)));
      table.row(
          policy.name(),
          few,
          many,
          unit,
          policy.name().equals(Stacks.LOG) ? Goal.atMost(BYTES_A_UNIT, unit) : "");
    }
    report.table(
        table.note(
            "By MEMORY USAGE of all keys of the subject, their names and the server's own overhead among it."));
  }

  private long after(Policy policy, int calls) throws Exception {
    redis.deleteKeys();
    LimitRequest request = LimitRequest.of(policy, new Subject("user", "user-1"));
    var unused = CallsInFlight.times(calls, 1, 1, subject -> limiter.record(request));
    return redis.keys().stream().mapToLong(key -> redis.commands().memoryUsage(key)).sum();
  }
}
