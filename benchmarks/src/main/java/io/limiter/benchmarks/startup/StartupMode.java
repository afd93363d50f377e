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
import java.util.List;

/** Starts services again and again, with the limiter and without. */
public final class StartupMode implements Mode {

  private static final String WITH = "with the limiter";
  private static final String WITHOUT = "limiter.enabled=false";

  /** With ÷ without. */
  private static final double MOST = 1.08;

  @Override
  public String name() {
    return "startup";
  }

  @Override
  public String help() {
    return "the start of the demo, and of a service of one controller, with the limiter and without";
  }

  @Override
  public List<Option> options() {
    return List.of(DemoJar.OPTION);
  }

  @Override
  public void run(Options options, Report report) throws Exception {
    String demo = DemoJar.find(options).toString();
    String here = System.getProperty("java.class.path");
    try (BenchRedis redis = BenchRedis.open(options, report)) {
      List<ServiceStart> starts =
          List.of(
              new ServiceStart("the demo", "/health-free", List.of("-jar", demo), redis),
              new ServiceStart(
                  "a service of one controller",
                  OneController.FREE,
                  List.of("-cp", here, OneController.class.getName()),
                  redis));
      for (ServiceStart start : starts) {
        Turns.Results results =
            new Turns(options)
                .add(WITHOUT, () -> start.measure(false))
                .add(WITH, () -> start.measure(true))
                .run();
        report.table(table(start.name(), results));
      }
    }
  }

  private static Table table(String service, Turns.Results results) {
    Table table =
        new Table(
                "Start of " + service, "until", "with ÷ without", "goal", "with, ms", "without, ms")
            .lessIsBetter("with ÷ without");
    Spread ratio = results.ratio(WITH, WITHOUT, ServiceStart.ANSWERS);
    row(table, results, ServiceStart.ANSWERS, Goal.atMost(MOST, ratio));
    row(table, results, ServiceStart.PROCESSOR, "");
    row(table, results, ServiceStart.STARTED, "");
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
