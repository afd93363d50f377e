// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.races;

import io.limiter.benchmarks.Mode;
import io.limiter.benchmarks.Options;
import io.limiter.benchmarks.Report;
import java.nio.file.Path;
import java.util.List;

/** Runs {@link MemoryRaces} by jcstress, in processes of its own. */
public final class RacesMode implements Mode {

  private static final Option MODE =
      new Option("effort", "MODE", "sanity, quick, default or tough, as jcstress has them");

  private static final Option INTO =
      new Option("results", "DIR", "where jcstress writes its pages; races unless given");

  @Override
  public String name() {
    return "races";
  }

  @Override
  public String help() {
    return "tries what threads that decide in memory at the same time may observe; 10 minutes";
  }

  @Override
  public List<Option> options() {
    return List.of(MODE, INTO);
  }

  @Override
  public boolean partOfAll() {
    return false;
  }

  @Override
  public void run(Options options, Report report) throws Exception {
    String effort = options.text(MODE.name()).orElse(options.quick() ? "sanity" : "quick");
    List<String> command =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-cp",
            System.getProperty("java.class.path"),
            "org.openjdk.jcstress.Main",
            "-m",
            effort,
            "-r",
            options.text(INTO.name()).orElse("races") + "/");
    int exit = new ProcessBuilder(command).inheritIO().start().waitFor();
    if (exit != 0) {
      throw new Failure("jcstress found what no interleaving may show: its output names it");
    }
  }
}
