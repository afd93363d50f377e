// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.incident;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The charts of the recorded incident are what the recording gives. */
class IncidentTest {

  private static final Path DIRECTORY = Path.of("..", "docs", "incident");
  private static final String REMEDY =
      "drawn with: mvnw test -Ppictures; recorded and drawn with: java -jar benchmarks/target/benchmarks.jar incident";

  private static Recording recording() throws IOException {
    return Recording.read(DIRECTORY.resolve(IncidentPlots.FILE));
  }

  @Test
  void theChartsAreThoseOfTheRecording() throws IOException {
    if ("write".equals(System.getProperty("limiter.pictures"))) {
      new IncidentPlots(recording()).write(DIRECTORY);
    }
    new IncidentPlots(recording())
        .charts()
        .forEach(
            (name, chart) ->
                assertThat(DIRECTORY.resolve(name + ".svg")).as(REMEDY).hasContent(chart.svg()));
    try (Stream<Path> files = Files.list(DIRECTORY)) {
      assertThat(files.filter(file -> file.toString().endsWith(".svg")))
          .hasSize(new IncidentPlots(recording()).charts().size());
    }
  }

  /** What the page says of it. */
  @Test
  void theRecordingHasAFloodAndASilentRedis() throws IOException {
    Recording recording = recording();
    Map<String, double[]> decided =
        recording.rate("limiter_decisions_total", "decided_by", labels -> true);
    int usual = Phase.USUAL.to() - 1;
    int flood = Phase.FLOOD.to() - 1;
    int silent = Phase.SILENT.to() - 1;
    int back = Phase.BACK.to() - 1;

    assertThat(recording.length()).isEqualTo(Phase.BACK.to());
    assertThat(decided.get("deny_cache")[flood]).isGreaterThan(5 * decided.get("store")[usual]);
    assertThat(decided.get("store")[silent]).isZero();
    assertThat(decided.get("fallback")[silent]).isPositive();
    // On a busy machine single calls have their deadline without a silent Redis.
    assertThat(decided.get("store")[back]).isGreaterThan(10 * decided.get("fallback")[back]);
    assertThat(open(recording, silent)).isEqualTo(1);
    assertThat(open(recording, back)).isZero();
  }

  private static double open(Recording recording, int at) {
    return recording.sum("limiter_breaker", "", labels -> true).get("")[at];
  }

  @Test
  void ratesAndQuantilesAreThoseOfPrometheus(@TempDir Path directory) throws IOException {
    Recording made = new Recording();
    for (int second = 0; second <= Recording.WINDOW; second++) {
      made.add(
          """
          # HELP limiter_a_total a
          limiter_a_total{kind="x, y",other="1"} %1$d.0
          limiter_a_total{kind="x, y",other="2"} %2$d.0
          limiter_t_seconds_bucket{le="0.001"} %1$d
          limiter_t_seconds_bucket{le="0.003"} %2$d
          limiter_t_seconds_bucket{le="+Inf"} %2$d
          other_total 5
          """
              .formatted(second, 2 * second));
    }
    made.write(directory.resolve("made.tsv"));
    Recording read = Recording.read(directory.resolve("made.tsv"));

    Map<String, double[]> rates = read.rate("limiter_a_total", "kind", labels -> true);
    assertThat(rates).containsOnlyKeys("x, y");
    assertThat(rates.get("x, y")[Recording.WINDOW]).isEqualTo(3);
    // A half is below 1 ms, the others are spread evenly up to 3 ms.
    assertThat(read.quantile(0.5, "limiter_t_seconds", labels -> true)[Recording.WINDOW])
        .isEqualTo(0.001, within(1e-9));
    assertThat(read.quantile(0.75, "limiter_t_seconds", labels -> true)[Recording.WINDOW])
        .isEqualTo(0.002, within(1e-9));
    assertThat(read.sum("other_total", "", labels -> true)).isEmpty();
  }

  /** Each chart is that of one panel, or of several where its title names them. */
  @Test
  void theDashboardHasPanelsLikeTheCharts() throws IOException {
    JsonNode dashboard =
        new ObjectMapper().readTree(Path.of("..", "examples", "grafana", "limiter.json").toFile());

    assertThat(dashboard.get("panels").findValuesAsText("title"))
        .contains(
            "Decisions by outcome, per second",
            "Share of denials",
            "Who decided, per second",
            "Time until Redis has decided",
            "Fallback by reason, per second",
            "Breaker open, by node",
            "Waiting",
            "In flight",
            "Deny cache");
  }
}
