// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import io.limiter.benchmarks.check.CheckMode;
import io.limiter.benchmarks.cold.ColdMode;
import io.limiter.benchmarks.engine.BatchMode;
import io.limiter.benchmarks.engine.EngineMode;
import io.limiter.benchmarks.engine.HotMode;
import io.limiter.benchmarks.http.HttpMode;
import io.limiter.benchmarks.incident.IncidentMode;
import io.limiter.benchmarks.lease.LeasesMode;
import io.limiter.benchmarks.memory.MemoryMode;
import io.limiter.benchmarks.overload.OverloadMode;
import io.limiter.benchmarks.planner.PlannerMode;
import io.limiter.benchmarks.races.RacesMode;
import io.limiter.benchmarks.server.ServerMode;
import io.limiter.benchmarks.startup.RoutesMode;
import io.limiter.benchmarks.startup.StartupMode;
import java.io.IOException;
import java.io.PrintStream;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Measures one thing, or all: {@code java -jar benchmarks.jar <mode> [options]}. */
public final class Benchmarks {

  static final String ALL = "all";

  private static final int EXIT_FAILED = 1;
  private static final int EXIT_USAGE = 2;

  private static final List<Mode> MODES =
      List.of(
          new EngineMode(),
          new BatchMode(),
          new HotMode(),
          new LeasesMode(),
          new MemoryMode(),
          new RacesMode(),
          new OverloadMode(),
          new HttpMode(),
          new StartupMode(),
          new RoutesMode(),
          new ColdMode(),
          new CheckMode(),
          new IncidentMode(),
          new PlannerMode(),
          new ServerMode());

  private Benchmarks() {}

  /**
   * Ends with 2 if the command line is invalid, with 1 if a measurement fails or if {@code compare}
   * finds something worse.
   */
  public static void main(String[] arguments) throws Exception {
    if (arguments.length == 0 || List.of("help", "--help", "-h").contains(arguments[0])) {
      System.out.print(help());
      return;
    }
    int exit = 0;
    try {
      List<String> given = List.of(arguments);
      if (given.get(0).equals(Compare.NAME)) {
        exit = Compare.run(given.subList(1, given.size()), System.out) > 0 ? EXIT_FAILED : 0;
      } else {
        run(given, System.out);
      }
    } catch (UsageException e) {
      System.err.println(e.getMessage());
      System.exit(EXIT_USAGE);
    } catch (Mode.Failure e) {
      System.err.println(e.getMessage());
      System.exit(EXIT_FAILED);
    } catch (Exception e) {
      // Printed before the exit: a server that could not start may have left threads behind.
      e.printStackTrace();
      System.exit(EXIT_FAILED);
    }
    // Peers leave threads behind that would keep the process.
    System.exit(exit);
  }

  /**
   * Runs the command line.
   *
   * @throws UsageException if it is invalid; then nothing has run
   */
  public static void run(List<String> arguments, PrintStream out) throws Exception {
    List<Mode> modes = modes(arguments.get(0));
    List<Mode.Option> own = modes.stream().flatMap(mode -> mode.options().stream()).toList();
    Options options = Options.parse(arguments, own);
    Report report = new Report(out, options);
    try {
      for (Mode mode : modes) {
        mode.run(options, report);
      }
    } finally {
      write(report, options);
    }
  }

  /** Results from before a failure are kept. */
  private static void write(Report report, Options options) throws IOException {
    if (options.json().isPresent()) {
      report.writeJson(options.json().get());
    }
  }

  private static List<Mode> modes(String name) {
    if (name.equals(ALL)) {
      return MODES.stream().filter(Mode::partOfAll).toList();
    }
    Map<String, Mode> known = MODES.stream().collect(Collectors.toMap(Mode::name, mode -> mode));
    Mode mode = known.get(name);
    if (mode == null) {
      throw new UsageException(
          "There is no mode '%s': give it one of %s, or help"
              .formatted(
                  name,
                  MODES.stream()
                      .map(Mode::name)
                      .collect(Collectors.joining(", ", "", ", " + ALL))));
    }
    return List.of(mode);
  }

  static String help() {
    StringBuilder help = new StringBuilder("java -jar benchmarks.jar <mode> [options]\n\nModes:\n");
    MODES.forEach(mode -> line(help, mode.name(), mode.help()));
    line(help, ALL, "all of them that measure and end by themselves, one after another");
    line(help, Compare.NAME, Compare.HELP);
    help.append("\nOptions:\n");
    Options.COMMON.forEach(option -> line(help, option));
    for (Mode mode : MODES) {
      if (!mode.options().isEmpty()) {
        help.append("\nOptions of ").append(mode.name()).append(":\n");
        mode.options().forEach(option -> line(help, option));
      }
    }
    return help.toString();
  }

  private static void line(StringBuilder help, Mode.Option option) {
    line(help, ("--" + option.name() + ' ' + option.value()).strip(), option.help());
  }

  private static void line(StringBuilder help, String name, String text) {
    help.append("  %-20s %s%n".formatted(name, text));
  }
}
