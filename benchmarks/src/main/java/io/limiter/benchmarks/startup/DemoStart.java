// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.startup;

import io.limiter.benchmarks.BenchRedis;
import io.limiter.benchmarks.process.JavaProcess;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Starts of the demo, each in a process of its own. */
final class DemoStart {

  /** In milliseconds, from the start of the process. */
  static final String ANSWERS = "the first 200 of /health-free";

  /** In milliseconds of processor time: it depends less on other load of the machine. */
  static final String PROCESSOR = "the same, processor time";

  /** In milliseconds, as Micronaut logs it: without the start of the JVM. */
  static final String STARTED = "Micronaut's \"Startup completed\"";

  private static final String FREE = "/health-free";
  private static final Pattern COMPLETED = Pattern.compile("Startup completed in (\\d+)ms");

  private final Path jar;
  private final BenchRedis redis;

  /**
   * @param jar the packed demo
   */
  DemoStart(Path jar, BenchRedis redis) {
    this.jar = jar;
    this.redis = redis;
  }

  /** Starts it, waits until it answers, and ends it. */
  Map<String, Double> measure(boolean limited) {
    List<String> command =
        List.of(
            "-Dlimiter.enabled=" + limited,
            "-Dlimiter.redis.key-prefix=" + redis.prefix(),
            "-jar",
            jar.toString());
    // If it had to start a Redis of its own, the measurement would include that.
    try (JavaProcess demo =
        JavaProcess.start("The demo", List.of(), command, Map.of("REDIS_URI", redis.uri()))) {
      Duration answers = demo.awaitOk(FREE);
      double processor = demo.processorTime().map(Duration::toMillis).orElse(0L);
      Map<String, Double> figures = new LinkedHashMap<>();
      figures.put(ANSWERS, answers.toNanos() / 1e6);
      figures.put(PROCESSOR, processor);
      figures.put(STARTED, completed(demo.output()));
      return figures;
    }
  }

  static double completed(String output) {
    Matcher line = COMPLETED.matcher(output);
    if (!line.find()) {
      throw new IllegalStateException(
          "The demo answers, and does not log how long its start took, but:%n%s".formatted(output));
    }
    return Double.parseDouble(line.group(1));
  }
}
