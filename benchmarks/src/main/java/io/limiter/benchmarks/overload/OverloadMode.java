// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.overload;

import io.limiter.benchmarks.Mode;
import io.limiter.benchmarks.Options;
import io.limiter.benchmarks.Report;
import io.limiter.benchmarks.Table;
import io.limiter.benchmarks.overload.Simulation.Outcome;
import io.limiter.benchmarks.overload.Simulation.Setting;
import io.limiter.overload.AdaptiveLimit;
import io.limiter.overload.ConcurrencyLimiter;
import io.limiter.overload.ConcurrencyLimiter.Permit;
import io.limiter.overload.Criticality.Level;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * Limits of calls in flight, compared in simulated time, the same on each machine; and a real
 * service with ours.
 */
public final class OverloadMode implements Mode {

  static final String GOODPUT = "Goodput under overload";
  static final String BY_LOAD = "Goodput by load";
  static final String LIMITS = "Limit while the dependency is slow";
  static final String LATENCY = "Latency of the highest criticality under overload";
  static final String SHED = "Rejected without overload";
  static final String RECOVERY = "Recovery of the dependency";
  static final String DRIFT = "Limit over 24 hours of steady load";
  static final String FAIRNESS = "Fairness among callers";
  static final String COST = "What a request costs";

  private static final List<Algorithm> COMPARED =
      Stream.of(Algorithm.values()).filter(algorithm -> algorithm != Algorithm.NONE).toList();

  private static final int BEGIN = 60;
  private static final int STEP = 5;

  private static final Option REAL =
      new Option("real", "", "only the real service, without the simulation");

  private static final Option SERVE =
      new Option("serve", "S", "is that service, limited or unlimited, until its input ends");

  @Override
  public String name() {
    return "overload";
  }

  @Override
  public String help() {
    return "limits of calls in flight under overload: a simulation, and a real service";
  }

  @Override
  public List<Option> options() {
    return List.of(REAL, SERVE);
  }

  @Override
  public boolean partOfAll() {
    return false;
  }

  @Override
  public void run(Options options, Report report) throws Exception {
    String served = options.text(SERVE.name()).orElse("");
    if (!served.isEmpty()) {
      try (var unused = SlowService.start(served.equals("limited"))) {
        var unusedEnd = System.in.readAllBytes();
      }
      return;
    }
    if (options.text(REAL.name()).isEmpty()) {
      simulate(options, report);
    }
    new RealService(options, report).measure();
  }

  private static void simulate(Options options, Report report) {
    double time = options.quick() ? 5 : 120;
    Map<String, Setting> loads = overloads(time);
    report.table(
        compare(
            GOODPUT,
            "Answers within ten times the time of a call, as a share of what the dependency can serve; a dependency with 16 places and 20 ms each, unless stated otherwise. 20 % of the capacity is of the highest criticality.",
            loads,
            outcome -> share(outcome.goodput(), 3)));
    report.table(
        compare(
            LATENCY,
            "The 99th percentile in ms, from the arrival on; in brackets the share that was admitted, where that is below 99.9 %.",
            loads,
            OverloadMode::critical));
    report.table(
        compare(
            SHED,
            "Per cent of all calls that were rejected.",
            calm(time),
            outcome -> share(100 * outcome.shed(), 3)));
    report.table(byLoad(time / 2));
    report.table(recovery(options.quick()));
    report.table(limits());
    report.table(drift(options.quick() ? 0.1 : 24));
    report.table(fairness(options.quick() ? 20 : 600));
    report.table(cost(options.quick() ? 100_000 : 20_000_000));
  }

  static Map<String, Setting> overloads(double time) {
    Map<String, Setting> all = new LinkedHashMap<>();
    all.put("twice the capacity", Setting.of(1_600).withCritical(0.1).withTime(30, time));
    all.put("ten times", Setting.of(8_000).withCritical(0.02).withTime(30, time));
    all.put(
        "twice, half of the capacity critical",
        Setting.of(1_600).withCritical(0.25).withTime(30, time));
    all.put(
        "twice, and waiting slows all",
        Setting.of(1_600).withCritical(0.1).withThrash(0.01).withTime(30, time));
    all.put(
        "twice, heavy tail (σ = 1.2)",
        Setting.of(1_600).withCritical(0.1).withDependency(16, 20, 1.2).withTime(30, time));
    all.put(
        "twice, 2 places of 5 ms",
        Setting.of(800).withCritical(0.1).withDependency(2, 5, 0.5).withTime(30, time));
    all.put(
        "twice, 200 places of 50 ms",
        Setting.of(8_000).withCritical(0.1).withDependency(200, 50, 0.5).withTime(30, time / 2));
    return all;
  }

  static Map<String, Setting> calm(double time) {
    Map<String, Setting> all = new LinkedHashMap<>();
    all.put("80 % of the capacity", Setting.of(640).withTime(30, time));
    all.put(
        "80 %, a pause of 200 ms each minute",
        Setting.of(640).withPauses(32.0, 92.0).withTime(30, time));
    all.put("80 %, from the first call on", Setting.of(640).withTime(0, time));
    all.put("1 call/s", Setting.of(1).withTime(0, 30 * time));
    return all;
  }

  private static Table compare(
      String title, String note, Map<String, Setting> settings, Function<Outcome, String> cell) {
    Table table = new Table(title, columns("load")).note(note);
    settings.forEach(
        (name, setting) -> {
          List<Object> row = new ArrayList<>(List.of(name));
          COMPARED.forEach(some -> row.add(cell.apply(Simulation.run(setting, some))));
          table.row(row.toArray());
        });
    return table;
  }

  private static String[] columns(String first) {
    return Stream.concat(Stream.of(first), COMPARED.stream().map(Algorithm::label))
        .toArray(String[]::new);
  }

  private static String critical(Outcome outcome) {
    double admitted = outcome.criticalShare();
    String p99 = share(outcome.criticalP99(), 0);
    return admitted >= 0.999 ? p99 : "%s (%s)".formatted(p99, share(admitted, 3));
  }

  private static Table recovery(boolean quick) {
    Table table =
        new Table(RECOVERY, columns("the dependency was"))
            .note(
                "Seconds from its recovery until as many calls a second end well as before, at 90 % of the capacity.");
    int more = quick ? 10 : 30;
    Map<String, Setting> settings = new LinkedHashMap<>();
    settings.put("ten times as slow for %s s".formatted(more), slow(more, 10));
    settings.put("three times as slow for %s s".formatted(10 * more), slow(10 * more, 3));
    settings.put("a hundred times as slow for %s s".formatted(more), slow(more, 100));
    settings.forEach(
        (name, setting) -> {
          int end = (int) (setting.time() - 60);
          List<Object> row = new ArrayList<>(List.of(name));
          COMPARED.forEach(
              some -> {
                int seconds = Simulation.run(setting, some).recovered(end, 720);
                row.add(seconds < 0 ? "never" : Integer.toString(seconds));
              });
          table.row(row.toArray());
        });
    return table;
  }

  private static Table byLoad(double time) {
    Map<String, Setting> loads = new LinkedHashMap<>();
    for (double load : List.of(0.5, 0.8, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0)) {
      loads.put(Double.toString(load), Setting.of(800 * load).withThrash(0.01).withTime(30, time));
    }
    return compare(
        BY_LOAD,
        "Answers within ten times the time of a call, as a share of what the dependency can serve, by the load as a share of the same. Each call that waits for a place slows all by 1 %.",
        loads,
        outcome -> share(outcome.goodput(), 3));
  }

  /** Each five seconds, of a load of twice the capacity. */
  private static Table limits() {
    Table table =
        new Table(LIMITS, columns("second"))
            .note(
                "The mean of the next %s s, at twice the capacity. The dependency is three times as slow from second %s to second %s."
                    .formatted(STEP, BEGIN, 2 * BEGIN));
    Setting setting =
        Setting.of(1_600)
            .withSlow(at -> at >= BEGIN && at < 2 * BEGIN ? 3 : 1)
            .withTime(0, 3 * BEGIN);
    List<Outcome> outcomes = COMPARED.stream().map(some -> Simulation.run(setting, some)).toList();
    for (int second = 0; second < 3 * BEGIN; second += STEP) {
      List<Object> row = new ArrayList<>(List.of(Integer.toString(second)));
      for (Outcome outcome : outcomes) {
        row.add(share(outcome.meanLimit(second, second + STEP), 0));
      }
      table.row(row.toArray());
    }
    return table;
  }

  /** Slow from a minute on, and one more minute afterwards. */
  static Setting slow(int seconds, double factor) {
    return Setting.of(720)
        .withSlow(at -> at >= BEGIN && at < BEGIN + seconds ? factor : 1)
        .withTime(0, BEGIN + seconds + 60);
  }

  private static Table drift(double hours) {
    Table table =
        new Table(DRIFT, "load", "first hour", "last hour", "lowest hour", "highest hour")
            .note("The mean limit of limiter-overload; a dependency with 16 places of 200 ms.");
    for (double load : List.of(0.8, 2.0)) {
      double[] hourly = hourly(load, hours);
      double lowest = Double.MAX_VALUE;
      double highest = 0;
      for (double hour : hourly) {
        lowest = Math.min(lowest, hour);
        highest = Math.max(highest, hour);
      }
      table.row(
          "%s of the capacity".formatted(load),
          share(hourly[0], 1),
          share(hourly[hourly.length - 1], 1),
          share(lowest, 1),
          share(highest, 1));
    }
    return table;
  }

  /** The mean limits of hours, or of parts of a shorter time, after ten minutes. */
  static double[] hourly(double load, double hours) {
    int parts = 24;
    int seconds = (int) (hours * 3_600 / parts);
    Outcome outcome =
        Simulation.run(
            Setting.of(80 * load).withDependency(16, 200, 0.5).withTime(600, hours * 3_600),
            Algorithm.ADAPTIVE);
    double[] means = new double[parts];
    for (int i = 0; i < parts; i++) {
      means[i] = outcome.meanLimit(600 + i * seconds, 600 + (i + 1) * seconds);
    }
    return means;
  }

  private static Table fairness(double time) {
    Table table =
        new Table(FAIRNESS, "load", "Jain's index", "admitted")
            .note(
                "Of the shares of calls that are admitted, of 100 callers with equal rates in ten minutes; 1 if all are equal. The order of callers changes each 10 s.");
    for (double load : List.of(1.2, 2.0, 10.0)) {
      Outcome outcome = fair(load, time);
      table.row(
          "%s of the capacity".formatted(load),
          share(outcome.jain(), 3),
          share(1 - outcome.shed(), 3));
    }
    return table;
  }

  static Outcome fair(double load, double time) {
    return Simulation.run(
        Setting.of(800 * load).withCallers(100).withTime(30, time), Algorithm.ADAPTIVE);
  }

  /** In real time, on one thread. */
  private static Table cost(int calls) {
    Table table =
        new Table(COST, "what", "ns")
            .note("One thread of this machine: begin, sample and end of a call, by its clock.");
    ConcurrencyLimiter limiter =
        new ConcurrencyLimiter(
            new AdaptiveLimit(4, 100, 1_000, System::nanoTime),
            new ConcurrencyLimiter.Setup(0, 0, false),
            System::nanoTime,
            (task, nanos) -> {},
            overloaded -> {});
    for (int round = 0; round < 2; round++) { // the first warms up
      long start = System.nanoTime();
      for (int i = 0; i < calls; i++) {
        Permit permit = limiter.tryBegin(Level.NORMAL);
        if (permit != null) {
          permit.sample();
          permit.end();
        }
      }
      if (round == 1) {
        table.row("an admitted call", (System.nanoTime() - start) / calls);
      }
    }
    return table;
  }

  private static String share(double value, int digits) {
    return String.format(Locale.ROOT, "%." + digits + "f", value);
  }
}
