// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.planner;

import io.limiter.benchmarks.Goal;
import io.limiter.benchmarks.Mode;
import io.limiter.benchmarks.Options;
import io.limiter.benchmarks.Report;
import io.limiter.benchmarks.Spread;
import io.limiter.benchmarks.Table;
import io.limiter.benchmarks.Turns;
import io.limiter.benchmarks.planner.GeneratedLog.Addresses;
import io.limiter.planner.PlannerCommand;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The planner on one processor, in turn with {@code wc -l}, which only looks for the ends of lines,
 * and {@code awk}, which counts calls by address and minute. Both count what the planner counts.
 */
public final class PlannerMode implements Mode {

  private static final int LINES = 10_000_000;
  private static final int QUICK_LINES = 20_000;

  private static final String WC = "wc -l";
  private static final String AWK = "awk, 20 lines";
  private static final String LOG = "planner, 60/1m";
  private static final String WINDOW = "planner, 60/1m:fixed-window,zone=UTC";

  private static final String RATE = "lines a second of processor time";
  private static final String TIMES_AWK = "÷ awk";
  private static final String MEMORY = "MB";

  private static final double LEAST_RATE = 500_000;
  private static final double MOST_MEMORY = 512;

  /** For the JVM; it has its stacks, its code and buffers beside it. */
  private static final String HEAP = "-Xmx256m";

  private static final Pattern DENIED =
      Pattern.compile("Denied: ([\\d,]+)[^\\n]*, ([\\d,]+) of [\\d,]+ subjects");
  private static final Pattern PEAK = Pattern.compile("VmHWM:\\s+(\\d+) kB");

  private static final long LOOK_MILLIS = 20;

  @Override
  public String name() {
    return "planner";
  }

  @Override
  public String help() {
    return "the planner on a generated access log, beside wc and awk; Linux";
  }

  @Override
  public List<Option> options() {
    return List.of(new Option("lines", "N", "lines of the log; " + LINES + " unless given"));
  }

  /** It writes logs of gigabytes. */
  @Override
  public boolean partOfAll() {
    return false;
  }

  @Override
  public void run(Options options, Report report) throws Exception {
    int lines = options.number("lines", options.quick() ? QUICK_LINES : LINES);
    Path directory = Files.createTempDirectory("limiter-planner-log");
    try {
      for (Addresses addresses : Addresses.values()) {
        int some = addresses == Addresses.FOLLOWING ? 3 * lines : lines;
        Path log = directory.resolve("access.log");
        new GeneratedLog(some, addresses).write(log);
        report.about("bytes of the log", String.valueOf(Files.size(log)));
        report.table(measure(options, directory, log, some, addresses));
      }
    } finally {
      for (Path file : List.of(directory.resolve("access.log"), directory.resolve("denied.awk"))) {
        Files.deleteIfExists(file);
      }
      Files.delete(directory);
    }
  }

  private static Table measure(
      Options options, Path directory, Path log, int lines, Addresses addresses) throws Exception {
    Path script = directory.resolve("denied.awk");
    try (InputStream in =
        Objects.requireNonNull(PlannerMode.class.getResourceAsStream("denied.awk"))) {
      Files.write(script, in.readAllBytes());
    }
    Map<String, String> found = new LinkedHashMap<>();
    Turns turns = Turns.cold(options);
    turns.add(WC, () -> timed(WC, List.of("wc", "-l", log.toString()), lines, found));
    turns.add(
        AWK,
        () -> timed(AWK, List.of("awk", "-f", script.toString(), log.toString()), lines, found));
    turns.add(LOG, () -> timed(LOG, planner(log, "60/1m"), lines, found));
    turns.add(
        WINDOW, () -> timed(WINDOW, planner(log, "60/1m:fixed-window,zone=UTC"), lines, found));
    Turns.Results results = turns.run();
    String byAwk = found.getOrDefault(AWK, "").strip();
    Matcher denied = DENIED.matcher(found.getOrDefault(WINDOW, ""));
    if (!denied.find()
        || !byAwk.equals((denied.group(1) + " " + denied.group(2)).replace(",", ""))) {
      throw new Mode.Failure(
          "The planner and awk count differently: %s, and %s".formatted(found.get(WINDOW), byAwk));
    }
    Table table =
        new Table(
                "%s lines, %s".formatted(lines, addresses),
                "",
                RATE,
                "goal",
                TIMES_AWK,
                "peak memory, " + MEMORY,
                "goal of memory")
            .moreIsBetter(RATE)
            .yardsticks(List.of(WC, AWK));
    for (String one : List.of(WC, AWK, LOG, WINDOW)) {
      Spread rate = results.value(one, RATE);
      Spread memory = results.value(one, MEMORY);
      boolean ours = !one.equals(WC) && !one.equals(AWK);
      table.row(
          one,
          rate,
          one.equals(LOG) ? Goal.atLeast(LEAST_RATE, rate) : "",
          results.ratio(one, AWK, RATE),
          memory,
          ours ? Goal.atMost(MOST_MEMORY, memory) : "");
    }
    return table.note(
        "Each with its start, on one processor, which other processes may use meanwhile; the JVM with %s. Denied by awk and by the planner's window: %s calls and subjects."
            .formatted(HEAP, byAwk));
  }

  private static List<String> planner(Path log, String rule) {
    return List.of(
        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        HEAP,
        "-XX:+UseSerialGC",
        "-cp",
        System.getProperty("java.class.path"),
        PlannerCommand.class.getName(),
        log.toString(),
        "--format",
        "combined",
        "--rule",
        rule);
  }

  private static Map<String, Double> timed(
      String name, List<String> command, int lines, Map<String, String> found)
      throws IOException, InterruptedException, Mode.Failure {
    List<String> pinned = new ArrayList<>(List.of("taskset", "-c", "0"));
    pinned.addAll(command);
    Path out = Files.createTempFile("limiter-planner", ".out");
    try {
      Process process =
          new ProcessBuilder(pinned).redirectErrorStream(true).redirectOutput(out.toFile()).start();
      Path status = Path.of("/proc", String.valueOf(process.pid()), "status");
      double peak = 0;
      Duration used = Duration.ZERO;
      while (!process.waitFor(LOOK_MILLIS, TimeUnit.MILLISECONDS)) {
        peak = Math.max(peak, peak(status));
        used = process.info().totalCpuDuration().orElse(used);
      }
      double seconds = Math.max(LOOK_MILLIS / 1e3, used.toNanos() / 1e9);
      String printed = Files.readString(out, StandardCharsets.UTF_8);
      if (process.exitValue() != 0) {
        throw new Mode.Failure("%s has failed: %s".formatted(name, printed));
      }
      found.put(name, printed);
      return Map.of(RATE, lines / seconds, MEMORY, peak / 1_000);
    } finally {
      Files.deleteIfExists(out);
    }
  }

  /** Kilobytes; 0 if the process is gone. */
  private static double peak(Path status) {
    try {
      Matcher peak = PEAK.matcher(Files.readString(status, StandardCharsets.ISO_8859_1));
      return peak.find() ? Double.parseDouble(peak.group(1)) : 0;
    } catch (IOException gone) {
      return 0;
    }
  }
}
