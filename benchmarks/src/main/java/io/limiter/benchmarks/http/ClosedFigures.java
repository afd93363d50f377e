// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import io.limiter.benchmarks.Goal;
import io.limiter.benchmarks.Machine;
import io.limiter.benchmarks.Options;
import io.limiter.benchmarks.Report;
import io.limiter.benchmarks.Spread;
import io.limiter.benchmarks.Table;
import io.limiter.benchmarks.Turns;
import java.util.Optional;

/** The throughput of the service: as many requests as are answered over 64 connections. */
final class ClosedFigures {

  /** ÷ /plain, by the machine: what a system call costs differs. */
  private static final double LIMITED_GOAL = Machine.model().contains("EPYC") ? 0.75 : 0.62;

  private static final double LEASED_GOAL = 0.88;
  private static final double DENIED_GOAL = 0.92;
  private static final double LIMITED_OF_FLOOR = 0.85;
  private static final double DENIED_OF_FLOOR = 0.92;
  private static final double NO_OP_GOAL = 0.85;

  private static final String OF_PLAIN = "÷ /plain";
  private static final String OF_FLOOR = "÷ floor";

  private final ServicesByScript services;
  private final Generator generator;

  ClosedFigures(ServicesByScript services, Generator generator) {
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
    report.table(routes(results, generator.name()));
    report.table(processors(results));
    report.table(way(results));
    ByMemory.in(results).check(options);
    return results.value(Route.PLAIN.name(), ServicesByScript.PER_SECOND).median();
  }

  /**
   * Requests a second of each route, and their ratios.
   *
   * @param generator its name
   */
  static Table routes(Turns.Results results, String generator) {
    Table table =
        new Table(
                "HTTP, as fast as it goes",
                "route",
                OF_PLAIN,
                "goal ÷ /plain",
                OF_FLOOR,
                "goal ÷ floor",
                ServicesByScript.PER_SECOND,
                "p50 µs",
                "p99 µs",
                ServicesByScript.SCRIPTS)
            .moreIsBetter(OF_PLAIN, OF_FLOOR, ServicesByScript.PER_SECOND)
            .lessIsBetter("p50 µs", "p99 µs")
            .yardsticks(Route.yardsticks());
    for (Route route : Route.values()) {
      Spread ofPlain = results.ratio(route.name(), Route.PLAIN.name(), ServicesByScript.PER_SECOND);
      Optional<Spread> ofFloor =
          route
              .floor()
              .map(floor -> results.ratio(route.name(), floor.name(), ServicesByScript.PER_SECOND));
      table.row(
          route.title(),
          ofPlain,
          switch (route) {
            case LIMITED -> Goal.atLeast(LIMITED_GOAL, ofPlain);
            case HOT_LEASED -> Goal.atLeast(LEASED_GOAL, ofPlain);
            case DENIED -> Goal.atLeast(DENIED_GOAL, ofPlain);
            default -> "";
          },
          ofFloor.isPresent() ? ofFloor.get() : "",
          switch (route) {
            case LIMITED -> Goal.atLeast(LIMITED_OF_FLOOR, ofFloor.orElseThrow());
            case DENIED -> Goal.atLeast(DENIED_OF_FLOOR, ofFloor.orElseThrow());
            default -> "";
          },
          results.value(route.name(), ServicesByScript.PER_SECOND),
          results.value(route.name(), ServicesByScript.P50),
          results.value(route.name(), ServicesByScript.P99),
          results.value(route.name(), ServicesByScript.SCRIPTS));
    }
    return table
        .note(
            "Generator: %s; it shares the machine with the service and Redis. Ratios are of requests a second; the floor of a route is its way without the limiter."
                .formatted(generator))
        .note("scripts/s: how many scripts Redis ran in a second for these requests.")
        .note(ByMemory.in(results).note());
  }

  /** The processor time that a request takes, and what of it the limiter adds. */
  static Table processors(Turns.Results results) {
    Table table =
        new Table(
                "HTTP, processor time of a request",
                "route",
                ServicesByScript.SERVICE,
                ServicesByScript.REDIS,
                "both, µs",
                "both ÷ floor")
            .lessIsBetter(
                ServicesByScript.SERVICE, ServicesByScript.REDIS, "both, µs", "both ÷ floor")
            .yardsticks(Route.yardsticks());
    for (Route route : Route.values()) {
      table.row(
          route.title(),
          results.value(route.name(), ServicesByScript.SERVICE),
          results.value(route.name(), ServicesByScript.REDIS),
          results.value(route.name(), ServicesByScript.BOTH),
          route
              .floor()
              .<Object>map(
                  floor -> results.ratio(route.name(), floor.name(), ServicesByScript.BOTH))
              .orElse(""));
    }
    return table.note(
        "User and system time, while the load lasts: the service's as the operating system accounts it, in steps of 10 ms on Linux; Redis' by INFO cpu, with reading the commands and writing the replies.");
  }

  private static Table way(Turns.Results results) {
    Spread ratio =
        results.ratio(Route.LIMITED.name(), Route.NO_OP.name(), ServicesByScript.PER_SECOND);
    return new Table("HTTP, what is left of the way to Redis", "ratio", "÷ no-op", "goal")
        .moreIsBetter("÷ no-op")
        .row("`/limited` ÷ the same with a no-op script", ratio, Goal.atLeast(NO_OP_GOAL, ratio));
  }
}
