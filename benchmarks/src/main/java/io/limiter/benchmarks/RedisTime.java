// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import io.lettuce.core.api.sync.RedisCommands;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A reading of Redis' own account of its time; the difference of two is the time spent in between.
 * Nothing is reset, since others may use the server.
 *
 * @param commands how often each command ran, and for how long
 * @param processor seconds of the processor, including reading calls and writing replies
 */
public record RedisTime(Map<String, Usage> commands, double processor) {

  private static final Pattern COMMAND =
      Pattern.compile("cmdstat_([^:\\s]+):calls=(\\d+),usec=(\\d+)");
  private static final Pattern PROCESSOR = Pattern.compile("used_cpu_(?:sys|user):([\\d.]+)");

  /** These include the time of the commands that their scripts run. */
  private static final List<String> SCRIPTS = List.of("evalsha", "eval", "fcall");

  /**
   * The use of one command.
   *
   * @param calls how often it ran
   * @param micros for how long
   */
  public record Usage(long calls, long micros) {

    static final Usage NONE = new Usage(0, 0);

    Usage minus(Usage before) {
      return new Usage(calls - before.calls, micros - before.micros);
    }
  }

  /** Reads it now; blocking. */
  public static RedisTime read(RedisCommands<byte[], byte[]> redis) {
    return parse(redis.info("commandstats"), redis.info("cpu"));
  }

  static RedisTime parse(String commandstats, String cpu) {
    Map<String, Usage> commands = new HashMap<>();
    Matcher command = COMMAND.matcher(commandstats);
    while (command.find()) {
      commands.put(
          command.group(1),
          new Usage(Long.parseLong(command.group(2)), Long.parseLong(command.group(3))));
    }
    double processor = 0;
    Matcher used = PROCESSOR.matcher(cpu);
    while (used.find()) {
      processor += Double.parseDouble(used.group(1));
    }
    return new RedisTime(commands, processor);
  }

  public RedisTime minus(RedisTime before) {
    Map<String, Usage> between = new HashMap<>();
    commands.forEach(
        (name, usage) ->
            between.put(name, usage.minus(before.commands.getOrDefault(name, Usage.NONE))));
    return new RedisTime(between, processor - before.processor);
  }

  /** How many scripts ran, by their names or by their texts. */
  public long scripts() {
    return SCRIPTS.stream()
        .mapToLong(name -> commands.getOrDefault(name, Usage.NONE).calls())
        .sum();
  }

  /**
   * Microseconds of all commands for one decision. Redis also adds commands run by scripts to the
   * account of each command; so of a plain command its mean counts, once a decision.
   */
  public double microsPerDecision(long decisions, Optional<String> plain) {
    double sum = 0;
    for (String script : SCRIPTS) {
      sum += (double) commands.getOrDefault(script, Usage.NONE).micros();
    }
    Usage once = plain.map(name -> commands.getOrDefault(name, Usage.NONE)).orElse(Usage.NONE);
    double mean = once.calls() == 0 ? 0 : (double) once.micros() / (double) once.calls();
    return sum / (double) decisions + mean;
  }
}
