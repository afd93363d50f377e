// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.startup;

import io.limiter.benchmarks.BenchRedis;
import io.limiter.benchmarks.process.JavaProcess;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Starts of a service, each in a process of its own.
 *
 * @param name in messages, and the title of its table
 * @param free a path of it without a limit
 * @param program the end of its command line, such as {@code -jar} and a jar
 */
record ServiceStart(String name, String free, List<String> program, BenchRedis redis) {

  /** In milliseconds, from the start of the process. */
  static final String ANSWERS = "the first 200 of a route without a limit";

  /** In milliseconds of processor time: it depends less on other load of the machine. */
  static final String PROCESSOR = "the same, processor time";

  /** In milliseconds, as Micronaut logs it: without the start of the JVM. */
  static final String STARTED = "Micronaut's \"Startup completed\"";

  private static final String LOGS_IT = "-Dlogger.levels.io.micronaut.runtime.Micronaut=INFO";

  private static final Pattern COMPLETED = Pattern.compile("Startup completed in (\\d+)ms");

  /** Starts it, waits until it answers, and ends it. */
  Map<String, Double> measure(boolean limited) {
    List<String> command = new ArrayList<>();
    command.add("-Dlimiter.enabled=" + limited);
    command.add("-Dlimiter.redis.key-prefix=" + redis.prefix());
    command.add(LOGS_IT);
    command.addAll(program);
    // If it had to start a Redis of its own, the measurement would include that.
    try (JavaProcess service =
        JavaProcess.start(name, List.of(), command, Map.of("REDIS_URI", redis.uri()))) {
      Duration answers = service.awaitOk(free);
      double processor = service.processorTime().map(Duration::toMillis).orElse(0L);
      Map<String, Double> figures = new LinkedHashMap<>();
      figures.put(ANSWERS, answers.toNanos() / 1e6);
      figures.put(PROCESSOR, processor);
      figures.put(STARTED, completed(service.output()));
      return figures;
    }
  }

  static double completed(String output) {
    Matcher line = COMPLETED.matcher(output);
    if (!line.find()) {
      throw new IllegalStateException(
          "The service answers, and does not log how long its start took, but:%n%s"
              .formatted(output));
    }
    return Double.parseDouble(line.group(1));
  }
}
