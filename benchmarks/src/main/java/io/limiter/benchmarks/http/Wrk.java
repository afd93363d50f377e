// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The generator wrk, with one thread: it takes less of the processors, which it shares with the
 * service, than any Java generator would.
 *
 * @see <a href="https://github.com/wg/wrk">wrk</a>
 */
public final class Wrk implements Generator {

  private static final Pattern ANSWERS = Pattern.compile("(\\d+) requests in ");
  private static final Pattern PER_SECOND = Pattern.compile("Requests/sec:\\s+([0-9.]+)");
  private static final Pattern DENIED = Pattern.compile("Non-2xx or 3xx responses: (\\d+)");
  private static final Pattern ERRORS =
      Pattern.compile("Socket errors: connect (\\d+), read (\\d+), write (\\d+), timeout (\\d+)");
  private static final String TIME = "%s%%\\s+([0-9.]+)(us|ms|s|m)\\b";

  private final int connections;

  public Wrk(int connections) {
    this.connections = connections;
  }

  public static boolean isInstalled() {
    try {
      return output(List.of("wrk", "-v")).contains("wrk");
    } catch (IllegalStateException none) {
      return false;
    }
  }

  @Override
  public String name() {
    return "wrk -t1 -c" + connections;
  }

  /** It counts in whole seconds: one at least. */
  @Override
  public LoadResult run(URI uri, double seconds) {
    List<String> command = new ArrayList<>(List.of("wrk", "-t1", "-c" + connections));
    command.add("-d" + Math.max(1, Math.round(seconds)) + "s");
    command.addAll(List.of("--latency", "--timeout", "5s", uri.toString()));
    return read(output(command));
  }

  /** Parses its output; the times are missing if it has printed none. */
  static LoadResult read(String output) {
    Matcher errors = ERRORS.matcher(output);
    long failed = 0;
    if (errors.find()) {
      for (int kind = 1; kind <= errors.groupCount(); kind++) {
        failed += Long.parseLong(errors.group(kind));
      }
    }
    return new LoadResult(
        Double.parseDouble(required(PER_SECOND, output)),
        Long.parseLong(required(ANSWERS, output)),
        found(DENIED, output) ? Long.parseLong(required(DENIED, output)) : 0,
        failed,
        micros("50", output),
        micros("99", output));
  }

  private static double micros(String share, String output) {
    Matcher time = Pattern.compile(TIME.formatted(share)).matcher(output);
    if (!time.find()) {
      return 0;
    }
    double number = Double.parseDouble(time.group(1));
    return switch (time.group(2)) {
      case "us" -> number;
      case "ms" -> number * 1_000;
      case "s" -> number * 1_000_000;
      default -> number * 60_000_000;
    };
  }

  private static boolean found(Pattern pattern, String output) {
    return pattern.matcher(output).find();
  }

  private static String required(Pattern pattern, String output) {
    Matcher matcher = pattern.matcher(output);
    if (!matcher.find()) {
      throw new IllegalStateException(
          "The output of wrk has no \"%s\":%n%s".formatted(pattern, output));
    }
    return matcher.group(1);
  }

  private static String output(List<String> command) {
    try {
      Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
      try {
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        process.waitFor();
        return output;
      } finally {
        process.destroy();
      }
    } catch (IOException e) {
      throw new IllegalStateException(String.join(" ", command) + " fails: " + e.getMessage(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted during " + String.join(" ", command), e);
    }
  }
}
