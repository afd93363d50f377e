// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import io.limiter.benchmarks.BenchRedis;
import io.limiter.benchmarks.Mode;
import io.limiter.benchmarks.Options;
import io.limiter.benchmarks.Report;
import io.limiter.benchmarks.UsageException;
import java.util.List;

/** Compares routes with limits to the same route without, as callers see them. */
public final class HttpMode implements Mode {

  private static final Option RATE =
      new Option(
          "rate",
          "N",
          "requests a second at a steady rate; a third of what /plain does unless given");
  private static final Option GENERATOR =
      new Option("generator", "G", "wrk or java; wrk where it is installed unless given");

  private static final Option CONNECTIONS =
      new Option("connections", "N", "of the generator; 64 unless given");
  private static final Option ROUTES =
      new Option("routes", "PATHS", "only these of the service, after /plain, as fast as they go");

  /** So that no route of a small machine is near saturation, where times are meaningless. */
  private static final double SHARE = 1.0 / 3;

  @Override
  public String name() {
    return "http";
  }

  @Override
  public String help() {
    return "routes with limits against the same without, in requests/s and in latency";
  }

  @Override
  public List<Option> options() {
    return List.of(RATE, GENERATOR, CONNECTIONS, ROUTES);
  }

  @Override
  public void run(Options options, Report report) throws Exception {
    Generator generator = generator(options);
    report.library("io.lettuce", "lettuce-core");
    report.library("io.netty", "netty-common");
    report.library("io.micronaut.platform", "micronaut-platform");
    try (BenchRedis redis = BenchRedis.open(options, report);
        ServicesByScript services = ServicesByScript.start(redis)) {
      if (options.text(ROUTES.name()).isPresent()) {
        List<String> paths = List.of(options.text(ROUTES.name()).get().split(","));
        new PathFigures(services, generator).report(paths, options, report);
        return;
      }
      double plain = new ClosedFigures(services, generator).report(options, report);
      double rate = options.number(RATE.name(), (int) Math.max(1, plain * SHARE));
      new OpenFigures(services, rate).report(options, report);
    }
  }

  /** For a trial run wrk takes too long: a second at least. */
  private static Generator generator(Options options) {
    String given = options.text(GENERATOR.name()).orElse(options.quick() ? "java" : "");
    int connections = options.number(CONNECTIONS.name(), Generator.CONNECTIONS);
    return switch (given) {
      case "" -> Generator.find(connections);
      case "wrk" -> new Wrk(connections);
      case "java" -> new ClosedLoop(connections);
      default ->
          throw new UsageException(
              "The option --generator is '%s': give it wrk or java".formatted(given));
    };
  }
}
