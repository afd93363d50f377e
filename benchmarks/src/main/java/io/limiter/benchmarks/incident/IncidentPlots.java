// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.incident;

import io.limiter.benchmarks.plot.TimeChart;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/** The queries of the dashboard's panels over the recorded incident, drawn. */
final class IncidentPlots {

  static final String FILE = "incident.tsv";

  private static final Set<String> DENIED = Set.of("limited", "banned", "duplicate", "unavailable");
  private static final String SUBTITLE = "recorded from the demo";
  private static final double MILLIS = 1e3;

  private final Recording recording;

  IncidentPlots(Recording recording) {
    this.recording = recording;
  }

  /** The charts, by the names of their files; the title of each is that of its panel. */
  Map<String, TimeChart> charts() {
    Map<String, TimeChart> charts = new LinkedHashMap<>();
    charts.put(
        "decisions",
        chart(
            "Decisions by outcome, per second",
            recording.rate("limiter_decisions_total", "outcome", IncidentPlots::all)));
    charts.put("denied", denied());
    charts.put(
        "decided-by",
        chart(
            "Who decided, per second",
            recording.rate("limiter_decisions_total", "decided_by", IncidentPlots::all)));
    charts.put("latency", latency());
    Map<String, double[]> fallback =
        recording.rate("limiter_fallback_total", "reason", IncidentPlots::all);
    fallback.values().removeIf(Recording::isZero);
    charts.put("fallback", chart("Fallback by reason, per second", fallback));
    Map<String, double[]> breaker = recording.sum("limiter_breaker", "node", IncidentPlots::all);
    charts.put(
        "breaker",
        chart(
            "Breaker open, by node",
            Map.of("the demo's Redis", breaker.values().iterator().next())));
    charts.put("waiting", waiting());
    return charts;
  }

  private static boolean all(Map<String, String> labels) {
    return true;
  }

  private TimeChart denied() {
    double[] denied =
        Recording.total(
            recording.rate(
                "limiter_decisions_total",
                "outcome",
                labels -> DENIED.contains(labels.get("outcome"))),
            recording.length());
    double[] all =
        Recording.total(
            recording.rate("limiter_decisions_total", "outcome", IncidentPlots::all),
            recording.length());
    return chart("Share of denials", Map.of("denied ÷ all", Recording.share(denied, all)));
  }

  private TimeChart latency() {
    Predicate<Map<String, String>> decided = labels -> "decided".equals(labels.get("outcome"));
    Map<String, double[]> lines = new LinkedHashMap<>();
    lines.put(
        "p50", Recording.times(recording.quantile(0.5, "limiter_store_seconds", decided), MILLIS));
    lines.put(
        "p99", Recording.times(recording.quantile(0.99, "limiter_store_seconds", decided), MILLIS));
    return chart("Time until Redis has decided, ms", lines);
  }

  private TimeChart waiting() {
    Map<String, double[]> lines = new LinkedHashMap<>();
    for (String metric :
        new String[] {"limiter_waiting", "limiter_in_flight", "limiter_deny_cache"}) {
      lines.put(
          metric,
          Recording.total(recording.sum(metric, "", IncidentPlots::all), recording.length()));
    }
    return chart("Waiting, in flight, deny cache", lines);
  }

  private TimeChart chart(String title, Map<String, double[]> lines) {
    TimeChart chart = new TimeChart(title, SUBTITLE);
    lines.forEach(chart::line);
    for (Phase phase : Phase.values()) {
      if (phase != Phase.USUAL && phase != Phase.BACK) {
        chart.phase(phase.title(), phase.from(), phase.to());
      }
    }
    return chart;
  }

  void write(Path directory) throws IOException {
    for (Map.Entry<String, TimeChart> chart : charts().entrySet()) {
      chart.getValue().write(directory.resolve(chart.getKey() + ".svg"));
    }
  }
}
