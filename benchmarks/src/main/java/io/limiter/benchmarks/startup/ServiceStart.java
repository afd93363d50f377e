// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.startup;

import io.limiter.benchmarks.process.JavaProcess;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Starts of a service, each in a process of its own.
 *
 * @param name in messages
 * @param command the arguments of {@code java}
 * @param environment added to that of this process
 */
record ServiceStart(String name, List<String> command, Map<String, String> environment) {

  /** Paths of the services: without a limit, and limited to {@value #CALLS} calls. */
  static final String FREE = "/free";

  static final String LIMITED = "/limited";

  static final int CALLS = 10;

  /** In milliseconds, from the start of the process. */
  static final String ANSWERS = "the first 200 of a route without a limit";

  /** In milliseconds of processor time: it depends less on other load of the machine. */
  static final String PROCESSOR = "the same, processor time";

  /** In milliseconds, as Micronaut logs it: without the start of the JVM. */
  static final String STARTED = "Micronaut's \"Startup completed\"";

  /** In milliseconds, from the start of the process, after {@value #CALLS} calls. */
  static final String DENIES = "the first denial";

  /** In milliseconds, some seconds after the first response: work that was put off counts. */
  static final String SETTLED = "processor time, settled";

  /** In MB, after a collection of garbage. */
  static final String RESIDENT = "resident memory";

  static final String CLASSES = "classes";

  private static final String LOGS_IT = "-Dlogger.levels.io.micronaut.runtime.Micronaut=INFO";

  private static final Pattern COMPLETED = Pattern.compile("Startup completed in (\\d+)ms");

  private static final double MB = 1e6;

  /** Starts it, waits until it answers, and ends it. */
  Map<String, Double> untilItAnswers() {
    try (JavaProcess service = start()) {
      return answered(service);
    }
  }

  /**
   * Starts it, uses its limit up, and waits until what it has put off is done.
   *
   * @param rest from the first response to the reading of its processor time
   * @param limited whether the next call is denied
   */
  Map<String, Double> untilItRests(Duration rest, boolean limited) throws InterruptedException {
    long began = System.nanoTime();
    try (JavaProcess service = start()) {
      Map<String, Double> figures = answered(service);
      long answered = System.nanoTime();
      for (int call = 0; call <= CALLS; call++) {
        int expected = limited && call == CALLS ? 429 : 200;
        int status = service.status(LIMITED);
        if (status != expected) {
          throw new IllegalStateException(
              "%s answers call %s with %s, not %s:%n%s"
                  .formatted(name, call + 1, status, expected, service.output()));
        }
      }
      figures.put(DENIES, (System.nanoTime() - began) / 1e6);
      Thread.sleep(Math.max(0, rest.toMillis() - (System.nanoTime() - answered) / 1_000_000));
      figures.put(SETTLED, processor(service));
      figures.put(CLASSES, (double) service.loadedClasses());
      figures.put(RESIDENT, service.residentAfterCollection().orElse(0L) / MB);
      return figures;
    }
  }

  private JavaProcess start() {
    return JavaProcess.start(
        name, List.of(), Stream.concat(Stream.of(LOGS_IT), command.stream()).toList(), environment);
  }

  private Map<String, Double> answered(JavaProcess service) {
    Duration answers = service.awaitOk(FREE);
    Map<String, Double> figures = new LinkedHashMap<>();
    figures.put(PROCESSOR, processor(service));
    figures.put(ANSWERS, answers.toNanos() / 1e6);
    figures.put(STARTED, completed(service.output()));
    return figures;
  }

  private static double processor(JavaProcess service) {
    return service.processorTime().map(Duration::toMillis).orElse(0L);
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
