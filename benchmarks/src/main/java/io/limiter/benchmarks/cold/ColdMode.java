// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.cold;

import io.limiter.benchmarks.BenchRedis;
import io.limiter.benchmarks.Mode;
import io.limiter.benchmarks.Options;
import io.limiter.benchmarks.Report;
import io.limiter.benchmarks.Spread;
import io.limiter.benchmarks.Table;
import io.limiter.benchmarks.process.DemoJar;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Starts the demo again and again, and checks whether Redis decides each call from the first on.
 */
public final class ColdMode implements Mode {

  private static final Option BUSY =
      new Option(
          "busy", "N", "busy loops for each processor beside two warm demos; 1 unless given");

  /** One round of situations, each of which starts demos of its own. */
  @FunctionalInterface
  private interface Situation {
    List<Finding> find();
  }

  @Override
  public String name() {
    return "cold";
  }

  @Override
  public String help() {
    return "whether Redis decides each call just after a start and on a busy machine; fails if not";
  }

  @Override
  public List<Option> options() {
    return List.of(DemoJar.OPTION, BUSY);
  }

  /** It measures nothing: it succeeds or fails. */
  @Override
  public boolean partOfAll() {
    return false;
  }

  /**
   * @throws Failure after the table, if a call was not decided by Redis, or more or fewer were
   *     admitted than have to be; not with {@code --quick}
   */
  @Override
  public void run(Options options, Report report) throws Exception {
    Path jar = DemoJar.find(options);
    Table table =
        new Table(
            "Decided by Redis",
            "situation",
            "round",
            "admitted",
            "decided by",
            "slowest answer, ms",
            "slowest PING, ms");
    List<Finding> inexact = new ArrayList<>();
    try (BenchRedis redis = BenchRedis.open(options, report)) {
      Situations situations = new Situations(jar, redis, options.number(BUSY.name(), 1));
      report.progress("warm-up of the generator");
      situations.warmUpThisProcess();
      for (int round = 1; round <= options.rounds(); round++) {
        for (Situation situation : all(situations)) {
          for (Finding found : situation.find()) {
            report.progress(
                "round %s of %s: %s: %s"
                    .formatted(
                        round, options.rounds(), found.situation(), found.answers().decided()));
            row(table, round, found);
            if (!found.exact()) {
              inexact.add(found);
            }
          }
        }
      }
    } finally {
      report.table(
          table.note(
              "Redis is healthy all along. The PING is this process': where processors are busy, it waits for one too."));
    }
    if (!inexact.isEmpty() && !options.quick()) {
      throw new Failure(
          "Redis answered, and in %s of %s rows it did not decide all, or not what it should"
              .formatted(inexact.size(), table.rows().size()));
    }
  }

  private static List<Situation> all(Situations situations) {
    return List.of(
        () -> List.of(situations.twoFreshDemos()),
        situations::aFreshDemo,
        () -> List.of(situations.twoWarmDemosOnABusyMachine()),
        () -> List.of(situations.aFreshDemoOnPartOfAProcessor()));
  }

  private static void row(Table table, int round, Finding found) {
    table.row(
        found.situation(),
        round,
        found.admittedText(),
        found.answers().decided(),
        Spread.text(found.answers().slowestMillis()),
        Spread.text(found.pingMillis()));
  }
}
