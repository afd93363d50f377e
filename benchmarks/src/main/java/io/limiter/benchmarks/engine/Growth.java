// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.engine;

import io.limiter.benchmarks.BenchRedis;
import io.limiter.benchmarks.Goal;
import io.limiter.benchmarks.Options;
import io.limiter.benchmarks.RedisTime;
import io.limiter.benchmarks.Report;
import io.limiter.benchmarks.Spread;
import io.limiter.benchmarks.Table;
import io.limiter.benchmarks.Turns;
import io.limiter.benchmarks.plot.LineChart;
import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.rule.SlidingWindowLogRule;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/**
 * How the cost of a decision in Redis grows with the count of a rule and with the number of
 * subjects. The logs are full all the time, and each call is counted, so that the oldest unit is
 * removed as the new one arrives.
 */
final class Growth {

  private static final String MICROS = "µs";
  private static final Duration HOUR = Duration.ofHours(1);
  private static final int SUBJECTS_OF_COUNTS = 200;
  private static final int COUNT_OF_SUBJECTS = 10;
  private static final int PARTS = 10;
  private static final int QUICK_MAX = 1_000;
  private static final int DEFAULT_MAX_SUBJECTS = 1_000_000;
  private static final int MAX_COUNT = 10_000;

  private static final double BY_COUNT = 2;
  private static final double BY_SUBJECTS = 1.3;

  private final BenchRedis redis;
  private final Limiter limiter;
  private final Options options;
  private final Report report;

  Growth(BenchRedis redis, Limiter limiter, Options options, Report report) {
    this.redis = redis;
    this.limiter = limiter;
    this.options = options;
    this.report = report;
  }

  void run() throws Exception {
    int maxSubjects =
        options.quick() ? QUICK_MAX : options.number("max-subjects", DEFAULT_MAX_SUBJECTS);
    redis.deleteKeys();
    Turns counts = new Turns(options);
    for (int count = 10; count <= (options.quick() ? QUICK_MAX : MAX_COUNT); count *= 10) {
      Policy policy = Policy.of("growth-" + count, SlidingWindowLogRule.of(count, HOUR));
      fill(policy, count, SUBJECTS_OF_COUNTS, PARTS);
      counts.add(label("count", count), full(policy, SUBJECTS_OF_COUNTS, limiter::record));
      counts.add(deniedLabel(count), full(policy, SUBJECTS_OF_COUNTS, limiter::acquire));
    }
    table("Redis CPU as the count grows, full logs", counts.run(), "growth-count.svg", BY_COUNT);
    redis.deleteKeys();
    Turns subjects = new Turns(options);
    for (int many = 1_000; many <= maxSubjects; many *= 10) {
      Policy policy =
          Policy.of("subjects-" + many, SlidingWindowLogRule.of(COUNT_OF_SUBJECTS, HOUR));
      fill(policy, COUNT_OF_SUBJECTS, many, 1);
      subjects.add(label("subjects", many), full(policy, many, limiter::record));
    }
    table(
        "Redis CPU as subjects grow, full logs of %s units".formatted(COUNT_OF_SUBJECTS),
        subjects.run(),
        "growth-subjects.svg",
        BY_SUBJECTS);
  }

  private static String label(String what, int number) {
    return "%s %,d".formatted(what, number);
  }

  private static String deniedLabel(int count) {
    return label("count", count) + ", denied";
  }

  /** In several parts, so that the units have different stamps. */
  private void fill(Policy policy, int count, int subjects, int parts) throws Exception {
    report.progress("filling %,d logs of %,d units".formatted(subjects, count));
    for (int part = 0; part < parts; part++) {
      var unused =
          CallsInFlight.times(
              subjects,
              Comparison.IN_FLIGHT,
              subjects,
              subject -> limiter.record(request(policy, subject).withCost(count / parts)));
    }
  }

  private static LimitRequest request(Policy policy, int subject) {
    return LimitRequest.of(policy, new Subject("user", "user-" + subject));
  }

  private Turns.Measurement full(
      Policy policy, int subjects, Function<LimitRequest, CompletionStage<?>> call) {
    return () -> {
      RedisTime before = RedisTime.read(redis.commands());
      CallsInFlight.Done done =
          CallsInFlight.during(
              options.time(),
              Comparison.IN_FLIGHT,
              subjects,
              subject -> call.apply(request(policy, subject)));
      RedisTime spent = RedisTime.read(redis.commands()).minus(before);
      return Map.of(MICROS, spent.microsPerDecision(done.calls(), Optional.empty()));
    };
  }

  /** Each relative to the first of its kind; the goal applies to the largest. */
  private void table(String title, Turns.Results found, String plot, double goal) throws Exception {
    Table table =
        new Table(title, "what", "µs", "÷ the least", "goal").lessIsBetter("µs", "÷ the least");
    LineChart chart = new LineChart(title + " ÷ the least");
    List<String> counted = found.names().stream().filter(name -> !name.contains("denied")).toList();
    String first = counted.get(0);
    for (String name : found.names()) {
      Spread ratio = found.ratio(name, first, MICROS);
      boolean last = name.equals(counted.get(counted.size() - 1));
      table.row(name, found.value(name, MICROS), ratio, last ? Goal.atMost(goal, ratio) : "");
      String number = name.replaceAll("[^0-9]", "");
      chart.point(
          name.contains("denied") ? "denied" : "counted", Double.parseDouble(number), ratio);
    }
    report.table(
        table.note(
            "Each call is counted, and the oldest unit goes; a denied call writes nothing."));
    if (options.plots().isPresent()) {
      chart.write(options.plots().get().resolve(plot));
    }
  }
}
