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
import io.limiter.benchmarks.UsageException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Starts the demo again and again, with the limiter and without. */
public final class StartupMode implements Mode {

  private static final Option DEMO =
      new Option("demo", "JAR", "the demo, packed; the one beside this module unless given");
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
    return List.of(DEMO);
  }

  @Override
  public void run(Options options, Report report) throws Exception {
    Path jar = options.text(DEMO.name()).map(Path::of).orElseGet(StartupMode::besideThis);
    if (!Files.isRegularFile(jar)) {
      throw new UsageException(
          "The demo is not in %s: pack it with mvnw package, or give --demo where it is"
              .formatted(jar));
    }
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

  /** Where the build packs it: this is in {@code benchmarks/target}, as a jar or as classes. */
  private static Path besideThis() {
    try {
      Path here =
          Path.of(StartupMode.class.getProtectionDomain().getCodeSource().getLocation().toURI());
      return here.resolve("../../../demo-app/target/demo-app.jar").normalize();
    } catch (URISyntaxException e) {
      throw new IllegalStateException("Nobody knows where these classes are: give --demo", e);
    }
  }

  private static Table table(Turns.Results results) {
    Table table =
        new Table(
            "Start of the demo", "until", "with ÷ without", "goal", "with, ms", "without, ms");
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
