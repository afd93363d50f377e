// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import io.limiter.benchmarks.Options;
import io.limiter.benchmarks.Report;
import io.limiter.benchmarks.Table;
import io.limiter.benchmarks.Turns;
import java.util.ArrayList;
import java.util.List;

/** Any routes of the service in turn with the one without a limit. */
final class PathFigures {

  private static final String OF_PLAIN = "÷ /plain";

  private final ServicesByScript services;
  private final Generator generator;

  PathFigures(ServicesByScript services, Generator generator) {
    this.services = services;
    this.generator = generator;
  }

  /** Measures and reports. */
  void report(List<String> paths, Options options, Report report) throws Exception {
    double seconds = options.time().toNanos() / 1e9;
    List<String> all = new ArrayList<>(List.of(Route.PLAIN.path()));
    paths.stream().filter(path -> !all.contains(path)).forEach(all::add);
    Turns turns = new Turns(options);
    for (String path : all) {
      services.warmUp(path, uri -> generator.run(uri, seconds));
      turns.add(path, () -> services.measure(path, uri -> generator.run(uri, seconds)));
    }
    Turns.Results results = turns.run();
    Table table =
        new Table(
                "HTTP, routes in turn",
                "route",
                OF_PLAIN,
                "p50 ÷ /plain",
                ServicesByScript.PER_SECOND,
                "p50 µs",
                "p99 µs",
                ServicesByScript.SCRIPTS)
            .moreIsBetter(OF_PLAIN, ServicesByScript.PER_SECOND)
            .lessIsBetter("p50 ÷ /plain", "p50 µs", "p99 µs");
    for (String path : all) {
      table.row(
          '`' + path + '`',
          results.ratio(path, Route.PLAIN.path(), ServicesByScript.PER_SECOND),
          results.ratio(path, Route.PLAIN.path(), ServicesByScript.P50),
          results.value(path, ServicesByScript.PER_SECOND),
          results.value(path, ServicesByScript.P50),
          results.value(path, ServicesByScript.P99),
          results.value(path, ServicesByScript.SCRIPTS));
    }
    report.table(table.note("Generator: %s.".formatted(generator.name())));
  }
}
