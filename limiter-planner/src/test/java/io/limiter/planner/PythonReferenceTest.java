// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.planner.Logs.Call;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The counts of logs of three shapes equal those of {@code reference.py}, which has nothing of the
 * engine. Skipped with a line where there is no Python 3.
 */
class PythonReferenceTest {

  private static final List<String> RULES = List.of("log", "fixed", "aligned", "bucket");

  @TempDir private Path directory;

  @BeforeAll
  static void requirePython() throws InterruptedException {
    boolean there;
    try {
      there = new ProcessBuilder("python3", "--version").start().waitFor() == 0;
    } catch (IOException missing) {
      there = false;
    }
    if (!there) {
      System.out.println(
          "No python3 on the PATH: the planner is not compared with the reference in Python");
    }
    Assumptions.assumeTrue(there, "no python3 on the PATH");
  }

  /** Regular callers and bursts; costs; and lines of many servers, far out of order. */
  private static List<Call> calls(String shape) {
    Random random = new Random(shape.hashCode());
    List<Call> calls = new ArrayList<>();
    switch (shape) {
      case "bursts" -> {
        for (int s = 0; s < 300; s++) {
          long micros = random.nextInt(60_000_000);
          for (int b = 0; b < 1 + random.nextInt(8); b++) {
            for (int c = 0; c < 1 + random.nextInt(30); c++) {
              calls.add(new Call(micros += 1 + random.nextInt(200_000), "s" + s, 1, 200));
            }
            micros += random.nextInt(120_000_000);
          }
        }
      }
      case "costs" -> calls.addAll(Logs.random(9, 20_000, 25, true));
      default -> {
        calls.addAll(Logs.random(8, 20_000, 400, false));
        for (int c = 0; c < 2_000; c++) { // one busy subject
          calls.add(new Call(100_000L * c + random.nextInt(50_000), "busy", 1, 200));
        }
        java.util.Collections.shuffle(calls, random);
      }
    }
    return calls;
  }

  @ParameterizedTest
  @ValueSource(strings = {"bursts", "costs", "shuffled"})
  void countsAreThoseOfTheReference(String shape) throws Exception {
    // Of calls of one subject at one time the order would be that of the log in both.
    List<Call> calls = calls(shape);
    long start = AccessLog.micros(Logs.START);
    Path plain =
        Logs.write(
            directory,
            "plain",
            calls.stream()
                .map(
                    call ->
                        "%s %s %s\n".formatted(start + call.micros(), call.subject(), call.cost()))
                .collect(Collectors.joining()));
    List<String> rules = new ArrayList<>();
    List<String> ours = new ArrayList<>();
    for (String numbers : List.of("7/10", "20/60", "5/1")) {
      String count = numbers.substring(0, numbers.indexOf('/'));
      String seconds = numbers.substring(numbers.indexOf('/') + 1);
      for (String algorithm : RULES) {
        rules.add("%s/%s000000:%s".formatted(count, seconds, algorithm));
        ours.add(
            "%s/%ss:%s"
                .formatted(
                    count,
                    seconds,
                    switch (algorithm) {
                      case "fixed" -> "fixed-window";
                      case "aligned" -> "fixed-window,zone=UTC";
                      case "bucket" -> "token-bucket";
                      default -> "sliding-window-log";
                    }));
      }
    }
    List<String> expected = python(plain, rules);
    try (AccessLog log = Logs.ofUsers().read(Logs.csv(directory, calls))) {
      List<String> found = new ArrayList<>();
      for (String rule : ours) {
        Replay.Tally tally = log.replay(List.of(RuleText.parse(rule))).most();
        found.add(tally.denied() + " " + tally.deniedSubjects());
      }
      assertThat(found).isEqualTo(expected).doesNotContain("0 0");
    }
  }

  private List<String> python(Path log, List<String> rules)
      throws IOException, InterruptedException {
    Path script = directory.resolve("reference.py");
    try (InputStream in =
        Objects.requireNonNull(PythonReferenceTest.class.getResourceAsStream("reference.py"))) {
      Files.write(script, in.readAllBytes());
    }
    List<String> command =
        Stream.concat(Stream.of("python3", script.toString(), log.toString()), rules.stream())
            .toList();
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
    assertThat(process.exitValue()).as(printed).isZero();
    return printed.lines().toList();
  }

  /** So that a reference that counts nothing is noticed. */
  @Test
  void theReferenceCounts() throws Exception {
    Path plain = Logs.write(directory, "plain", "1 a 1\n2 a 1\n2 b 1\n1000001 a 1\n1000003 a 1\n");
    assertThat(python(plain, List.of("1/1000000:log", "2/1000000:log", "1/1000000:aligned")))
        .containsExactly("2 1", "0 0", "2 1");
  }
}
