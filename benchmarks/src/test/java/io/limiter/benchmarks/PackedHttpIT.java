// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.testing.RedisFixture;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The modes that start services, from the released jar: classes packed into it have no manifest and
 * no directory of their own. The figures are meaningless.
 */
@Tag("matrix")
class PackedHttpIT {

  @TempDir Path directory;

  @Test
  void httpComparesEachRouteAsFastAsItGoesAndAtASteadyRate() throws Exception {
    String report = report("http", "--rate", "300");
    assertThat(report)
        .contains("these are not measurements", "### HTTP, as fast as it goes")
        .contains("### HTTP, processor time of a request", "| `/floor`: ", "| `/floor-call`: ")
        .contains("### HTTP, at 300 requests a second")
        .contains("`/limited` ÷ the same with a no-op script");
    assertThat(report.lines().filter(line -> line.startsWith("| `/denied`: "))).hasSize(3);
  }

  @Test
  void httpComparesTheRoutesThatAreGiven() throws Exception {
    String report = report("http", "--routes", "/floor,/first,/replayed", "--connections", "2");
    assertThat(report)
        .contains("### HTTP, routes in turn", "with 2 connections")
        .contains("| `/plain` | 1.00 |", "| `/floor` | ", "| `/first` | ", "| `/replayed` | ")
        .doesNotContain("### HTTP, as fast as it goes");
  }

  @Test
  void startupComparesServicesWithAndWithout() throws Exception {
    assertThat(report("startup"))
        .contains("### Start of a service with the demo's libraries", "| absent | ")
        .contains("| limiter.enabled: false | ", "| in memory | ", "| over Redis | ")
        .contains("| absent, one EVALSHA by Lettuce | ")
        .contains("in memory, beside absent: processor time ");
  }

  @Test
  void coldCallsFreshDemosAndFindsWhoDecided() throws Exception {
    String report = report("cold");
    assertThat(report)
        .contains("### Decided by Redis", "| two fresh demos: ", "| a fresh demo: 100 guesses ")
        .contains("| the same demo: 20 × /export ", "| two warm demos and 2 busy loops: ")
        .contains("| a fresh demo on one processor ")
        .doesNotContain("no answer", "no X-Decided-By");
    assertThat(
            report
                .lines()
                .filter(
                    row ->
                        row.startsWith("| two fresh demos: ")
                            || row.startsWith("| a fresh demo: ")
                            || row.startsWith("| the same demo: ")))
        .as("while Redis answers, Redis decides, also in a process that has just started")
        .hasSize(5)
        .noneMatch(row -> row.contains("FALLBACK"));
  }

  @Test
  void incidentRecordsTheDemoAndDrawsIt() throws Exception {
    Path into = directory.resolve("incident");
    assertThat(report("incident", "--into", into.toString())).contains("written to " + into);
    assertThat(into.resolve("incident.tsv")).content().contains("limiter_decisions_total{");
    assertThat(into.resolve("decisions.svg")).content().contains("</svg>");
  }

  private String report(String... arguments) throws Exception {
    Path output = directory.resolve("output");
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-jar",
                Path.of("target", "benchmarks.jar").toString()));
    command.addAll(List.of(arguments));
    command.addAll(List.of("--quick", "--redis", RedisFixture.uri()));
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
    // Also for the services, which then reach their speed soon.
    builder.environment().put("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1");
    Process process = builder.start();
    try {
      assertThat(process.waitFor(5, TimeUnit.MINUTES)).as("ended").isTrue();
      assertThat(process.exitValue()).as(Files.readString(output)).isZero();
      return Files.readString(output);
    } finally {
      process.destroyForcibly();
    }
  }
}
