// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.benchmarks.Spread;
import io.limiter.benchmarks.Table;
import io.limiter.benchmarks.TurnsTest;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The arithmetic of the tables, for two rounds of stated figures. */
class ClosedFiguresTest {

  private static final Map<Route, Double> PER_SECOND =
      new EnumMap<>(
          Map.of(
              Route.PLAIN, 100.0,
              Route.FLOOR, 80.0,
              Route.LIMITED, 60.0,
              Route.FLOOR_CALL, 50.0,
              Route.LIMITED_CALL, 30.0,
              Route.FLOOR_DENIED, 90.0,
              Route.DENIED, 81.0,
              Route.NO_OP, 72.0));

  /** In the second round all are twice as fast, and take half the time. */
  private static Map<String, List<Map<String, Double>>> rounds() {
    Map<String, List<Map<String, Double>>> found = new LinkedHashMap<>();
    for (Route route : Route.values()) {
      double rate = PER_SECOND.getOrDefault(route, 40.0);
      found.put(route.name(), List.of(figures(rate), figures(2 * rate)));
    }
    return found;
  }

  private static Map<String, Double> figures(double rate) {
    Map<String, Double> figures = new HashMap<>();
    figures.put(ServicesByScript.PER_SECOND, rate);
    figures.put(ServicesByScript.P50, 1.0);
    figures.put(ServicesByScript.P99, 2.0);
    figures.put(ServicesByScript.SCRIPTS, rate);
    figures.put(ServicesByScript.BY_MEMORY, 0.0);
    figures.put(ServicesByScript.SERVICE, 900 / rate);
    figures.put(ServicesByScript.REDIS, 100 / rate);
    figures.put(ServicesByScript.BOTH, 1_000 / rate);
    return figures;
  }

  private static List<Object> row(Table table, Route route) {
    return table.rows().stream()
        .filter(row -> row.get(0).equals(route.title()))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void eachRouteIsDividedByThePlainOneAndByItsFloor() {
    Table table = ClosedFigures.routes(TurnsTest.results(rounds()), "none");

    assertThat(table.rows()).hasSize(Route.values().length);
    assertThat(row(table, Route.LIMITED).subList(1, 6))
        .satisfies(cells -> assertThat(cells.get(0)).hasToString("0.600"))
        .satisfies(cells -> assertThat(cells.get(1).toString()).endsWith(": missed"))
        .satisfies(cells -> assertThat(cells.get(2)).hasToString("0.750"))
        .satisfies(cells -> assertThat(cells.get(3)).hasToString("≥ 0.85: missed"))
        .satisfies(cells -> assertThat(cells.get(4)).isEqualTo(Spread.of(List.of(60.0, 120.0))));
    assertThat(row(table, Route.LIMITED_CALL).get(3)).hasToString("0.600");
    assertThat(row(table, Route.NO_OP).get(3)).hasToString("0.900");
    assertThat(row(table, Route.DENIED).get(2)).hasToString("≥ 0.92: missed");
    assertThat(row(table, Route.DENIED).get(3)).hasToString("0.900");
    assertThat(row(table, Route.DENIED).get(4)).hasToString("≥ 0.92: missed");
    assertThat(row(table, Route.DENIED_UNCACHED).get(3)).isEqualTo("");
    assertThat(row(table, Route.FLOOR).get(3)).isEqualTo("");
  }

  @Test
  void processorTimeIsDividedByThatOfTheFloor() {
    Table table = ClosedFigures.processors(TurnsTest.results(rounds()));

    List<Object> limited = row(table, Route.LIMITED);
    assertThat(limited.get(1)).isEqualTo(Spread.of(List.of(15.0, 7.5)));
    assertThat(limited.get(2)).isEqualTo(Spread.of(List.of(100 / 60.0, 100 / 120.0)));
    assertThat(limited.get(4)).hasToString("1.33");
    assertThat(row(table, Route.PLAIN).get(4)).isEqualTo("");
  }
}
