// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The packed jar, by the commands of docs/planning.md. */
class PackedPlannerIT {

  private static final Path JAR = Path.of("target/limiter-planner.jar").toAbsolutePath();

  @TempDir private Path directory;

  @BeforeEach
  void writeLog() throws IOException {
    StringBuilder log = new StringBuilder();
    for (int call = 0; call < 1_000; call++) {
      String address = "10.0.0." + call % 7;
      log.append(Logs.combined(Logs.START.plusSeconds(call / 10), address, "/search/tea", 200));
    }
    Logs.write(directory, "access.log", log.toString());
  }

  /** Returns what it prints, errors included. */
  private String run(int status, String... arguments) throws IOException, InterruptedException {
    return run(status, List.of(), arguments);
  }

  private String run(int status, List<String> by, String... arguments)
      throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(by);
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-jar");
    command.add(JAR.toString());
    command.addAll(List.of(arguments));
    Process process =
        new ProcessBuilder(command)
            .directory(directory.toFile())
            .redirectErrorStream(true)
            .redirectInput(directory.resolve("access.log").toFile())
            .start();
    String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(process.exitValue()).as(printed).isEqualTo(status);
    return printed;
  }

  @Test
  void proposes() throws Exception {
    assertThat(run(0, "access.log", "--path", "/search/**", "--html", "report.html"))
        .startsWith("access.log: 1,000 calls of 7 subjects")
        .contains("observe: true")
        .doesNotContain("SLF4J");
    assertThat(Files.readString(directory.resolve("report.html"))).contains("<svg");
  }

  @Test
  void replays() throws Exception {
    assertThat(run(0, "access.log", "--path", "/search/**", "--rule", "60/1m", "--rule", "600/1h"))
        .contains("Rules 60/1m, 600/1h\n  Denied: 182–196 of 1,000 calls");
  }

  @Test
  void readsTheStandardInputAndShowsNoProgressWithoutATerminal() throws Exception {
    assertThat(run(0, "-", "--rule", "60/1m")).contains("-: 1,000 calls").doesNotContain("\r");
  }

  /** The JVM then has a file of its own in that place, which must stay open. */
  @Test
  void aProcessWithoutAStandardInputEndsWithAMessage() throws Exception {
    assertThat(run(1, List.of("sh", "-c", "exec \"$0\" \"$@\" <&-"), "-", "--rule", "60/1m"))
        .matches("(?s)(None of [\\d,]+ lines of '-' could be read|The log '-' has no lines).*");
  }

  @Test
  void endsWithTheStatusOfAMistake() throws Exception {
    assertThat(run(2, "access.log", "--rule", "60")).startsWith("The rule '60' cannot be read");
    assertThat(run(1, "none.log")).isEqualTo("The log 'none.log' does not exist\n");
  }
}
