// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import io.limiter.benchmarks.Goal;
import io.limiter.benchmarks.Options;
import io.limiter.benchmarks.Report;
import io.limiter.benchmarks.Spread;
import io.limiter.benchmarks.Table;
import io.limiter.benchmarks.Turns;

/** The throughput of the service: as many requests as are answered over 64 connections. */
final class ClosedFigures {

  private static final double LIMITED_GOAL = 0.65;
  private static final double NO_OP_GOAL = 0.85;
  private static final double DENIED_GOAL = 0.8;

  private final Services services;
  private final Generator generator;

  ClosedFigures(Services services, Generator generator) {
    this.services = services;
    this.generator = generator;
  }

  /**
   * Measures and reports.
   *
   * @return requests a second without a limit
   */
  double report(Options options, Report report) throws Exception {
    double seconds = options.time().toNanos() / 1e9;
    services.warmUp(uri -> generator.run(uri, seconds));
    Turns turns = new Turns(options);
    for (Route route : Route.values()) {
      turns.add(route.name(), () -> services.measure(route, uri -> generator.run(uri, seconds)));
    }
    Turns.Results results = turns.run();
    report.table(routes(results));
    report.table(way(results));
    ByMemory.in(results).check(options);
    return results.value(Route.PLAIN.name(), Services.PER_SECOND).median();
  }

  private Table routes(Turns.Results results) {
    Table table =
        new Table(
            "HTTP, as fast as it goes",
            "route",
            "÷ /plain",
            "goal",
            "requests/s",
            "p50 µs",
            "p99 µs",
            "scripts/s");
    for (Route route : Route.values()) {
      Spread ratio = results.ratio(route.name(), Route.PLAIN.name(), Services.PER_SECOND);
      table.row(
          route.title(),
          ratio,
          goal(route, ratio),
          results.value(route.name(), Services.PER_SECOND),
          results.value(route.name(), Services.P50),
          results.value(route.name(), Services.P99),
          results.value(route.name(), Services.SCRIPTS));
    }
    return table
        .note(
            "Generator: %s; it shares the machine with the service and Redis. Ratios are of requests a second."
                .formatted(generator.name()))
        .note("scripts/s: how many scripts Redis ran in a second for these requests.")
        .note(ByMemory.in(results).note());
  }

  private static Object goal(Route route, Spread ratio) {
    return switch (route) {
      case LIMITED -> Goal.atLeast(LIMITED_GOAL, ratio);
      case DENIED -> Goal.atLeast(DENIED_GOAL, ratio);
      default -> "";
    };
  }

  private static Table way(Turns.Results results) {
    Spread ratio = results.ratio(Route.LIMITED.name(), Route.NO_OP.name(), Services.PER_SECOND);
    return new Table("HTTP, what is left of the way to Redis", "ratio", "requests/s", "goal")
        .row("`/limited` ÷ the same with a no-op script", ratio, Goal.atLeast(NO_OP_GOAL, ratio));
  }
}
