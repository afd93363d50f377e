// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.server;

import io.limiter.benchmarks.BenchRedis;
import io.limiter.benchmarks.Mode;
import io.limiter.benchmarks.Options;
import io.limiter.benchmarks.Report;
import io.limiter.benchmarks.server.BenchmarkService.Script;
import io.micronaut.runtime.server.EmbeddedServer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Runs the service for any load generator, until it is ended. What it has counted in an external
 * Redis stays there until it expires, an hour later.
 */
public final class ServerMode implements Mode {

  private static final String NAME = "server";
  private static final Option NO_OP =
      new Option("no-op", "", "a script that does nothing in place of the decision");
  private static final Option PREFIX =
      new Option("key-prefix", "P", "of all keys in Redis; one of this run unless given");
  private static final Option ATTENDED =
      new Option("attended", "", "ends when its standard input does, as with who started it");

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public String help() {
    return "the service that http drives, on MICRONAUT_SERVER_PORT or 8080, for any load generator";
  }

  @Override
  public List<Option> options() {
    return List.of(NO_OP, PREFIX, ATTENDED);
  }

  @Override
  public boolean partOfAll() {
    return false;
  }

  /**
   * The command line that starts it as a process that ends with this one, on the Redis of
   * REDIS_URI.
   */
  public static List<String> commandLine(String keyPrefix, Script script) {
    List<String> command = new ArrayList<>(List.of(NAME));
    command.addAll(List.of("--" + PREFIX.name(), keyPrefix, "--" + ATTENDED.name()));
    if (script == Script.NO_OP) {
      command.add("--" + NO_OP.name());
    }
    return command;
  }

  @Override
  public void run(Options options, Report report) throws Exception {
    Script script = options.text(NO_OP.name()).isPresent() ? Script.NO_OP : Script.DECISION;
    try (BenchRedis redis = BenchRedis.open(options, report);
        EmbeddedServer server =
            BenchmarkService.start(
                redis.uri(),
                options.text(PREFIX.name()).orElse(redis.prefix()),
                script,
                Map.of())) {
      report.about("listens on", server.getURI().toString());
      if (options.text(ATTENDED.name()).isPresent()) {
        var unusedEnd = System.in.readAllBytes();
      } else {
        Thread.currentThread().join(); // until the process is ended
      }
    }
  }
}
