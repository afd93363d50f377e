// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.startup;

import io.limiter.benchmarks.BenchRedis;
import io.limiter.benchmarks.Goal;
import io.limiter.benchmarks.Mode;
import io.limiter.benchmarks.Options;
import io.limiter.benchmarks.Report;
import io.limiter.benchmarks.Spread;
import io.limiter.benchmarks.Table;
import io.limiter.benchmarks.Turns;
import io.limiter.benchmarks.process.DemoJar;
import java.nio.file.Path;
import java.util.List;

/** Starts the demo again and again, with the limiter and without. */
public final class StartupMode implements Mode {

  private static final String WITH = "with the limiter";
  private static final String WITHOUT = "limiter.enabled=false";

  /** With ÷ without. */
  private static final double MOST = 1.10;

  @Override
  public String name() {
    return "startup";
  }

  @Override
  public String help() {
    return "the start of the demo with the limiter against that without";
  }

  @Override
  public List<Option> options() {
    return List.of(DemoJar.OPTION);
  }

  @Override
  public void run(Options options, Report report) throws Exception {
    Path jar = DemoJar.find(options);
    try (BenchRedis redis = BenchRedis.open(options, report)) {
      DemoStart start = new DemoStart(jar, redis);
      Turns.Results results =
          new Turns(options)
              .add(WITHOUT, () -> start.measure(false))
              .add(WITH, () -> start.measure(true))
              .run();
      report.table(table(results));
    }
  }

  private static Table table(Turns.Results results) {
    Table table =
        new Table("Start of the demo", "until", "with ÷ without", "goal", "with, ms", "without, ms")
            .lessIsBetter("with ÷ without");
    Spread ratio = results.ratio(WITH, WITHOUT, DemoStart.ANSWERS);
    row(table, results, DemoStart.ANSWERS, Goal.atMost(MOST, ratio));
    row(table, results, DemoStart.PROCESSOR, "");
    row(table, results, DemoStart.STARTED, "");
    return table.note(
        "From the start of the process to the first answer; Micronaut's own time is what it logs.");
  }

  private static void row(Table table, Turns.Results results, String until, Object goal) {
    table.row(
        until,
        results.ratio(WITH, WITHOUT, until),
        goal,
        results.value(WITH, until),
        results.value(WITHOUT, until));
  }
}
