// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The command line. */
public final class Options {

  static final List<Mode.Option> COMMON =
      List.of(
          new Mode.Option("rounds", "N", "how often each is measured, in turn; 7 unless given"),
          new Mode.Option("seconds", "S", "how long one measurement takes; 2 unless given"),
          new Mode.Option("json", "FILE", "writes all tables there too"),
          new Mode.Option("plots", "DIR", "draws what there is to draw there, as SVG"),
          new Mode.Option("redis", "URI", "a Redis to measure with; else REDIS_URI, else its own"),
          new Mode.Option("quick", "", "shows that it runs; what it prints is no measurement"));

  private static final String QUICK = "quick";
  private static final int DEFAULT_ROUNDS = 7;
  private static final double DEFAULT_SECONDS = 2;
  private static final double QUICK_SECONDS = 0.05;

  private final List<String> commandLine;
  private final Map<String, String> values;

  private Options(List<String> commandLine, Map<String, String> values) {
    this.commandLine = commandLine;
    this.values = values;
  }

  /**
   * @param commandLine the mode, then options
   * @param own those of the mode
   * @throws UsageException if an option is unknown, or its value is not usable
   */
  static Options parse(List<String> commandLine, List<Mode.Option> own) {
    List<Mode.Option> known = Stream.concat(COMMON.stream(), own.stream()).toList();
    Map<String, String> values = new HashMap<>();
    for (int i = 1; i < commandLine.size(); i++) {
      Mode.Option option = find(commandLine.get(i), known);
      if (option.value().isEmpty()) {
        values.put(option.name(), "");
      } else if (i + 1 < commandLine.size()) {
        values.put(option.name(), commandLine.get(++i));
      } else {
        throw new UsageException(
            "The option --%s has no value: give it %s, %s"
                .formatted(option.name(), option.value(), option.help()));
      }
    }
    Options options = new Options(List.copyOf(commandLine), values);
    options.check();
    return options;
  }

  private static Mode.Option find(String given, List<Mode.Option> known) {
    return known.stream()
        .filter(option -> given.equals("--" + option.name()))
        .findFirst()
        .orElseThrow(
            () ->
                new UsageException(
                    "There is no option '%s': give it one of %s"
                        .formatted(
                            given,
                            known.stream()
                                .map(option -> "--" + option.name())
                                .collect(Collectors.joining(", ")))));
  }

  private void check() {
    int unusedRounds = rounds();
    Duration unusedTime = time();
  }

  public List<String> commandLine() {
    return commandLine;
  }

  /** Whether this run only shows that it works. */
  public boolean quick() {
    return values.containsKey(QUICK);
  }

  /** The number of rounds. */
  public int rounds() {
    return number("rounds", quick() ? 1 : DEFAULT_ROUNDS);
  }

  /** The duration of one measurement. */
  public Duration time() {
    double seconds = quick() ? QUICK_SECONDS : DEFAULT_SECONDS;
    String given = values.get("seconds");
    if (given != null) {
      try {
        seconds = Double.parseDouble(given);
      } catch (NumberFormatException e) {
        seconds = 0;
      }
      if (!(seconds >= 0.01 && seconds <= 3_600)) {
        throw new UsageException(
            "The option --seconds is '%s': give it a number from 0.01 to 3600".formatted(given));
      }
    }
    return Duration.ofNanos((long) (seconds * 1e9));
  }

  public Optional<Path> json() {
    return text("json").map(Path::of);
  }

  public Optional<Path> plots() {
    return text("plots").map(Path::of);
  }

  /** The server to measure with; empty if the run starts its own. */
  public Optional<String> redis() {
    return text("redis")
        .or(() -> Optional.ofNullable(System.getenv("REDIS_URI")).filter(uri -> !uri.isBlank()));
  }

  /** The value of an option, if it is given. */
  public Optional<String> text(String name) {
    return Optional.ofNullable(values.get(name));
  }

  /**
   * The value of an option that is a whole number above 0.
   *
   * @throws UsageException if it is something else
   */
  public int number(String name, int unlessGiven) {
    String given = values.get(name);
    if (given == null) {
      return unlessGiven;
    }
    if (!given.matches("[1-9][0-9]{0,8}")) {
      throw new UsageException(
          "The option --%s is '%s': give it a whole number above 0".formatted(name, given));
    }
    return Integer.parseInt(given);
  }
}
