// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import io.limiter.benchmarks.Options;
import io.limiter.benchmarks.Report;
import io.limiter.benchmarks.Table;
import io.limiter.benchmarks.Turns;

/** The waiting times of callers that come at a steady rate, whatever the service does. */
final class OpenFigures {

  private final ServicesByScript services;
  private final double rate;

  /**
   * @param rate requests a second
   */
  OpenFigures(ServicesByScript services, double rate) {
    this.services = services;
    this.rate = rate;
  }

  /** Measures and reports. */
  void report(Options options, Report report) throws Exception {
    double seconds = options.time().toNanos() / 1e9;
    Turns turns = new Turns(options);
    for (Route route : Route.values()) {
      turns.add(
          route.name(), () -> services.measure(route, uri -> OpenLoop.run(uri, rate, seconds)));
    }
    Turns.Results results = turns.run();
    Table table =
        new Table(
                "HTTP, at %,d requests a second".formatted(Math.round(rate)),
                "route",
                "p50 ÷ /plain",
                "p99 ÷ /plain",
                "p50 µs",
                "p99 µs")
            .lessIsBetter("p50 ÷ /plain", "p99 ÷ /plain", "p50 µs", "p99 µs")
            .yardsticks(Route.yardsticks());
    for (Route route : Route.values()) {
      table.row(
          route.title(),
          results.ratio(route.name(), Route.PLAIN.name(), ServicesByScript.P50),
          results.ratio(route.name(), Route.PLAIN.name(), ServicesByScript.P99),
          results.value(route.name(), ServicesByScript.P50),
          results.value(route.name(), ServicesByScript.P99));
    }
    report.table(
        table
            .note(
                "Times count from the moment at which a request was due, so that waiting for its turn is a part of them; what the generator, one thread of Java, is late by is too, the same for all.")
            .note(ByMemory.in(results).note()));
    ByMemory.in(results).check(options);
  }
}
