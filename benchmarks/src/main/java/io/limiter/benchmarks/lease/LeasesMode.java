// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.lease;

import io.limiter.benchmarks.Mode;
import io.limiter.benchmarks.Options;
import io.limiter.benchmarks.Report;
import io.limiter.benchmarks.Table;
import io.limiter.benchmarks.lease.Simulation.Outcome;
import io.limiter.benchmarks.lease.Simulation.Setting;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * What leases bring with many instances and subjects, in simulated time: the same on each machine.
 */
public final class LeasesMode implements Mode {

  static final String BY_INSTANCES = "One subject, by instances";
  static final String BY_LOAD = "One subject, by load";
  static final String BY_SUBJECTS = "1,000,000 subjects, by instances";
  static final String LOSS = "A count that is reached, by instances";
  static final String SCRIPTS = "A count that is reached, by rule";

  private static final Duration ROUND_TRIP = Duration.ofNanos(500_000);
  private static final Duration SHORT = Duration.ofMillis(100);
  private static final Duration LONG = Duration.ofSeconds(1);
  private static final Duration WINDOW = Duration.ofSeconds(10);
  private static final Duration BRIEF_WINDOW = Duration.ofSeconds(1);
  private static final int CALLS = 100_000;
  private static final int MANY = 1_000_000;
  private static final long PLENTY = 1_000_000_000;
  private static final long HALF = 500_000;
  private static final int JUST = 51_000;
  private static final int LOGGED = 10_000;
  private static final List<Integer> INSTANCES = List.of(1, 10, 100, 1_000);

  @Override
  public String name() {
    return "leases";
  }

  @Override
  public String help() {
    return "nothing: simulates leases of 1,000 instances and 1,000,000 subjects";
  }

  @Override
  public boolean partOfAll() {
    return false;
  }

  @Override
  public void run(Options options, Report report) {
    List<Integer> instances = options.quick() ? INSTANCES.subList(0, 2) : INSTANCES;
    int subjects = options.quick() ? 10_000 : MANY;
    report.table(byInstances(instances));
    report.table(byLoad(options.quick() ? List.of(10_000) : List.of(10_000, CALLS, MANY)));
    report.table(bySubjects(instances, subjects));
    report.table(loss(instances));
    report.table(scripts(options.quick() ? 10 : 100));
  }

  static Table byInstances(List<Integer> instances) {
    Table table =
        hotTable(
            BY_INSTANCES,
            "instances",
            "Scripts ÷ calls, by the time of a lease; 100,000 calls/s of all instances together. A lease: the scripts for each, one that grants it, and one if units go back.");
    instances.forEach(some -> hotRow(table, some, some, CALLS));
    return table;
  }

  private static Table byLoad(List<Integer> loads) {
    Table table =
        hotTable(
            BY_LOAD,
            "calls/s",
            "The same for 1,000 instances, by the calls of all of them together.");
    loads.forEach(calls -> hotRow(table, calls, 1_000, calls));
    return table;
  }

  private static Table hotTable(String title, String by, String note) {
    return new Table(
            title, by, "100 ms", "1 s", "scripts/s, 100 ms", "scripts/s, 1 s", "a lease, 100 ms")
        .note(note);
  }

  private static void hotRow(Table table, int by, int instances, int calls) {
    Outcome brief = hot(instances, calls, SHORT);
    Outcome lasting = hot(instances, calls, LONG);
    table.row(
        number(by),
        brief.scriptsOfCall(),
        lasting.scriptsOfCall(),
        brief.scriptsPerSecond(),
        lasting.scriptsPerSecond(),
        brief.scriptsOfLease());
  }

  /** A subject whose window is never full. */
  private static Outcome hot(int instances, int calls, Duration lease) {
    Duration time = lease.multipliedBy(6);
    return Simulation.run(
        new Setting(
            instances, calls, 1, window(PLENTY), lease, ROUND_TRIP, lease.multipliedBy(3), time));
  }

  private static Table bySubjects(List<Integer> instances, int subjects) {
    Table table =
        new Table(BY_SUBJECTS, "instances", "100 ms", "1 s", "calls by a lease, 1 s")
            .note(
                "Scripts ÷ calls, by the time of a lease; 100,000 calls/s by Zipf's distribution: the first subject makes 7 % of the calls, the first 1,000 make half of them.");
    for (int some : instances) {
      List<Outcome> found =
          Stream.of(SHORT, LONG)
              .map(
                  lease ->
                      Simulation.run(
                          new Setting(
                              some,
                              CALLS,
                              subjects,
                              window(PLENTY),
                              lease,
                              ROUND_TRIP,
                              lease.multipliedBy(2),
                              lease.multipliedBy(4))))
              .toList();
      table.row(
          number(some),
          found.get(0).scriptsOfCall(),
          found.get(1).scriptsOfCall(),
          found.get(1).leasedPart());
    }
    return table;
  }

  private static Table loss(List<Integer> instances) {
    Table table =
        new Table(
                LOSS,
                "instances",
                "fixed window, 1 %",
                "fixed window, 10 %",
                "log, 1 %",
                "log, 10 %")
            .note(
                "Per cent of the count that are not admitted although callers ask for them, with leases of 1 % or 10 % of the window. Fixed window: 500,000 in 10 s or 50,000 in 1 s, 51,000 calls/s, so that the count is just reached. Log: 10,000 in 1 s, 20,000 calls/s.");
    for (int some : instances) {
      table.row(
          number(some),
          lost(biting(some, JUST, window(HALF), SHORT)),
          lost(
              biting(
                  some,
                  JUST,
                  FixedWindowRule.aligned(HALF / 10, BRIEF_WINDOW, ZoneOffset.UTC),
                  SHORT)),
          lost(biting(some, 2 * LOGGED, log(), Duration.ofMillis(10))),
          lost(biting(some, 2 * LOGGED, log(), SHORT)));
    }
    return table;
  }

  private static double lost(Outcome outcome) {
    return 100 * Math.max(0, 1 - outcome.admittedPart());
  }

  private static Table scripts(int instances) {
    Table table =
        new Table(SCRIPTS, "rule", "without leases", "with leases")
            .note(
                "Scripts ÷ calls of %s instances; the deny cache is in front of both. 100,000 calls/s for 500,000 in 10 s; for the log 20,000 calls/s for 10,000 in 1 s. Leases of 100 ms."
                    .formatted(number(instances)));
    List<Rule> rules =
        List.of(
            window(HALF),
            TokenBucketRule.of(HALF, HALF, WINDOW),
            SlidingWindowCounterRule.of(HALF, WINDOW),
            log());
    List<String> names = List.of("fixed window", "token bucket", "sliding window counter", "log");
    for (int r = 0; r < rules.size(); r++) {
      Rule rule = rules.get(r);
      int calls = rule.count() == LOGGED ? 2 * LOGGED : CALLS;
      List<Object> row = new ArrayList<>(List.of(names.get(r)));
      for (Duration lease : List.of(Duration.ZERO, SHORT)) {
        row.add(biting(instances, calls, rule, lease).scriptsOfCall());
      }
      table.row(row.toArray());
    }
    return table;
  }

  /** A subject that asks for more than its count. */
  private static Outcome biting(int instances, int calls, Rule rule, Duration lease) {
    Duration window = rule.window();
    return Simulation.run(
        new Setting(
            instances,
            calls,
            1,
            rule,
            lease,
            ROUND_TRIP,
            window,
            window.equals(WINDOW) ? window.multipliedBy(2) : window.multipliedBy(10)));
  }

  private static Rule window(long count) {
    return FixedWindowRule.aligned(count, WINDOW, ZoneOffset.UTC);
  }

  private static Rule log() {
    return SlidingWindowLogRule.of(LOGGED, BRIEF_WINDOW);
  }

  private static String number(int number) {
    return String.format(Locale.ROOT, "%,d", number);
  }
}
