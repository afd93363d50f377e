// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.lease;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.benchmarks.Spread;
import io.limiter.benchmarks.lease.Simulation.Outcome;
import io.limiter.benchmarks.lease.Simulation.Setting;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.List;
import org.junit.jupiter.api.Test;

class SimulationTest {

  private static final Duration LEASE = Duration.ofMillis(100);
  private static final Duration SECOND = Duration.ofSeconds(1);

  private static Setting setting(int instances, int calls, long count, Duration lease) {
    Rule window = FixedWindowRule.aligned(count, SECOND, ZoneOffset.UTC);
    return new Setting(
        instances, calls, 1, window, lease, Duration.ofMillis(1), SECOND, Duration.ofSeconds(3));
  }

  @Test
  void withoutLeasesEachCallIsAScript() {
    Outcome found = Simulation.run(setting(10, 10_000, 1_000_000, Duration.ZERO));

    assertThat(found.calls()).isBetween(29_000L, 31_000L);
    assertThat(found.scripts()).isEqualTo(found.calls());
    assertThat(found.leased()).isZero();
  }

  @Test
  void aHotSubjectTakesAScriptOrTwoInTheTimeOfALease() {
    Setting setting = setting(10, 10_000, 1_000_000, LEASE);
    Outcome found = Simulation.run(setting);

    assertThat(found.scripts()).isLessThan(found.calls() / 20);
    assertThat(found.scriptsOfLease()).isBetween(1.0, 2.0);
    assertThat(Simulation.run(setting)).as("the same again").isEqualTo(found);
  }

  @Test
  void aSubjectWithFewCallsOnEachInstanceHasNoLease() {
    Outcome found = Simulation.run(setting(100, 1_000, 1_000_000, LEASE));

    assertThat(found.leased()).isZero();
  }

  @Test
  void whatIsLeasedIsNeverMoreThanTheCountAndNearlyAllOfIt() {
    Outcome found = Simulation.run(setting(10, 10_000, 5_000, LEASE));

    assertThat(found.leased()).isGreaterThan(found.calls() / 4);
    assertThat(found.possible()).isEqualTo(3 * 5_000);
    assertThat(found.admitted()).isBetween(found.possible() * 98 / 100, found.possible());
  }

  /**
   * Each row is computed from the beginning, so one of them shows whether the report is current.
   */
  @Test
  void theReportHasWhatTheSimulationGives() throws IOException {
    List<Object> row = LeasesMode.byInstances(List.of(100)).rows().get(0);
    List<String> cells =
        row.stream()
            .map(cell -> cell instanceof Double number ? Spread.text(number) : cell.toString())
            .toList();

    assertThat(Files.readString(Path.of("reports", "leases.md")))
        .as("its tables are printed by: java -jar benchmarks/target/benchmarks.jar leases")
        .contains("| " + String.join(" | ", cells) + " |");
  }
}
