// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.plot;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.benchmarks.Spread;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The plots of these pages show the figures of the reports. */
class PlotsOfThePageTest {

  private static final Path DOCS = Path.of("..", "docs");
  private static final Path REPORTS = Path.of("reports");
  private static final String ENGINE = "engine";
  private static final String HTTP = "http";
  private static final String BENCHMARKS = "benchmarks";
  private static final String LEASES = "leases";
  private static final String OVERLOAD = "overload";
  private static final int OVERLOAD_STEP = 5;
  private static final boolean WRITE = "write".equals(System.getProperty("limiter.pictures"));
  private static final String SPREAD = "line: least to most of the rounds";

  /** {@code 0.93 (0.90–0.95)}, or one number. */
  private static final Pattern FIGURE =
      Pattern.compile("([\\d.,]+)(?: \\(([\\d.,]+)–([\\d.,]+)\\))?");

  private static final Pattern GOAL = Pattern.compile("[≥≤] ([\\d.]+)");

  private static final String PLAIN = "÷ /plain";

  /** The route that is the floor of another: its way without the limiter. */
  private static final Map<String, String> FLOORS =
      Map.of(
          "/limited", "/floor",
          "/limited-async", "/floor",
          "/limited-call", "/floor-call",
          "/denied", "/floor-denied");

  /** A table of a report: its first column, and what is beside each. */
  private record Figures(Map<String, Map<String, String>> rows) {

    static Figures of(String report, String heading) throws IOException {
      List<String> lines = Files.readAllLines(REPORTS.resolve(report + ".md"));
      int begin = lines.indexOf("## " + heading);
      assertThat(begin).as(heading).isNotNegative();
      List<List<String>> cells =
          lines.subList(begin + 2, lines.size()).stream()
              .takeWhile(line -> line.startsWith("|"))
              .map(line -> List.of(line.substring(2, line.length() - 1).split(" ?\\| ?", -1)))
              .toList();
      Map<String, Map<String, String>> rows = new LinkedHashMap<>();
      for (List<String> row : cells.subList(2, cells.size())) {
        Map<String, String> named = new LinkedHashMap<>();
        for (int i = 1; i < cells.get(0).size(); i++) {
          named.put(cells.get(0).get(i).strip(), row.get(i).strip());
        }
        rows.put(row.get(0).replace("`", ""), named);
      }
      return new Figures(rows);
    }

    Spread at(String row, String column) {
      Matcher figure = FIGURE.matcher(rows.get(row).get(column));
      assertThat(figure.matches()).as("%s, %s", row, column).isTrue();
      List<Double> values = new ArrayList<>(List.of(number(figure.group(1))));
      if (figure.group(2) != null) {
        values.add(number(figure.group(2)));
        values.add(number(figure.group(3)));
      }
      return Spread.of(values);
    }

    BarChart bars(String title, String column) {
      BarChart chart = new BarChart(title);
      rows.keySet().forEach(row -> chart.bar(row, at(row, column)));
      return chart;
    }

    private static double number(String text) {
      return Double.parseDouble(text.replace(",", ""));
    }
  }

  private record Plot(String page, String file, String svg) {

    Plot(String file, String svg) {
      this(BENCHMARKS, file, svg);
    }

    @Override
    public String toString() {
      return file;
    }
  }

  static Stream<Plot> plots() throws IOException {
    return Stream.of(
        new Plot(
            "engine-rates",
            Figures.of(ENGINE, "Decisions a second")
                .bars("Decisions a second ÷ PING", "÷ PING")
                .legend(SPREAD)
                .svg()),
        new Plot(
            "engine-processor",
            Figures.of(ENGINE, "What a decision takes of Redis")
                .bars(
                    "Redis CPU a decision ÷ EVALSHA that does nothing",
                    "÷ EVALSHA that does nothing")
                .legend(SPREAD)
                .svg()),
        new Plot("engine-peers", peers()),
        new Plot(
            "growth-count",
            growth("Redis CPU as the count grows, full logs", "Redis CPU as the count grows")),
        new Plot(
            "growth-subjects",
            growth(
                "Redis CPU as subjects grow, full logs of 10 units", "Redis CPU as subjects grow")),
        new Plot("http-rates", routes()),
        leases("One subject, by instances", "One subject: scripts ÷ calls, by instances"),
        leases("One subject, by load", "One subject, 1,000 instances: scripts ÷ calls, by calls/s"),
        leases(
            "1,000,000 subjects, by instances",
            "1,000,000 subjects: scripts ÷ calls, by instances"),
        leases(
            "A count that is reached, by instances",
            "Per cent of the count that are not admitted, by instances"),
        new Plot(OVERLOAD, "goodput-by-load", goodput()),
        new Plot(OVERLOAD, "limit", limit()));
  }

  private static String goodput() throws IOException {
    Figures figures = Figures.of(OVERLOAD, "Goodput by load");
    LineChart chart = new LineChart("Goodput ÷ capacity, by load ÷ capacity");
    figures
        .rows()
        .forEach(
            (load, cells) ->
                cells
                    .keySet()
                    .forEach(
                        algorithm ->
                            chart.point(
                                algorithm, Double.parseDouble(load), figures.at(load, algorithm))));
    return chart.svg();
  }

  private static String limit() throws IOException {
    Figures figures = Figures.of(OVERLOAD, "Limit while the dependency is slow");
    TimeChart chart = new TimeChart("Limit of calls in flight", "twice the capacity");
    List<String> seconds = List.copyOf(figures.rows().keySet());
    for (String algorithm : figures.rows().get("0").keySet()) {
      chart.line(
          algorithm,
          seconds.stream()
              .mapToDouble(second -> figures.at(second, algorithm).median())
              .flatMap(mean -> DoubleStream.generate(() -> mean).limit(OVERLOAD_STEP))
              .toArray());
    }
    return chart.phase("three times as slow", 60, 120).svg();
  }

  /** A line for each lease time. */
  private static Plot leases(String heading, String title) throws IOException {
    Figures figures = Figures.of(LEASES, heading);
    LineChart chart = new LineChart(title);
    figures
        .rows()
        .forEach(
            (row, cells) ->
                cells.keySet().stream()
                    .filter(column -> column.matches("1(00 m| )s|.*%"))
                    .forEach(
                        column ->
                            chart.point(
                                column,
                                Double.parseDouble(row.replace(",", "")),
                                figures.at(row, column))));
    return new Plot(
        LEASES, heading.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]+", "-"), chart.svg());
  }

  private static String peers() throws IOException {
    Figures beside = Figures.of(ENGINE, "Ours beside others");
    BarChart chart = beside.bars("Our decisions a second ÷ those of others", "ours ÷ its");
    beside
        .rows()
        .forEach(
            (other, row) -> {
              Matcher goal = GOAL.matcher(row.get("goal"));
              if (goal.find()) {
                chart.mark(other, Double.parseDouble(goal.group(1)));
              }
            });
    return chart.legend(SPREAD + "; mark: the goal").svg();
  }

  private static String growth(String heading, String title) throws IOException {
    Figures figures = Figures.of(ENGINE, heading);
    LineChart chart = new LineChart(title + " ÷ the least");
    for (String row : figures.rows().keySet()) {
      chart.point(
          row.endsWith("denied") ? "denied" : "counted",
          Double.parseDouble(row.replaceAll("[^0-9]", "")),
          figures.at(row, "÷ the least"));
    }
    return chart.svg();
  }

  private static String routes() throws IOException {
    Figures figures = Figures.of(HTTP, "HTTP, as fast as it goes");
    BarChart chart = figures.bars("Requests a second ÷ the same route without a limit", PLAIN);
    for (String row : figures.rows().keySet()) {
      String floor = FLOORS.get(row.replaceFirst(":.*", ""));
      if (floor != null) {
        String of =
            figures.rows().keySet().stream()
                .filter(each -> each.startsWith(floor + ":"))
                .findFirst()
                .orElseThrow();
        chart.mark(row, figures.at(of, PLAIN).median());
      }
    }
    return chart.legend(SPREAD + "; mark: its way without the limiter").svg();
  }

  @ParameterizedTest
  @MethodSource("plots")
  void aPlotShowsTheFiguresOfTheTable(Plot plot) throws IOException {
    Path file = DOCS.resolve(plot.page()).resolve(plot.file() + ".svg");
    if (WRITE) {
      Svg.write(file, plot.svg());
    }

    assertThat(file).as("drawn with: mvnw test -Ppictures").hasContent(plot.svg());
  }

  @ParameterizedTest
  @ValueSource(strings = {BENCHMARKS, LEASES, OVERLOAD})
  void eachPlotIsOnThePage(String name) throws IOException {
    Path usual = DOCS.resolve(name + ".md");
    String page =
        Files.readString(
            Files.exists(usual) ? usual : DOCS.resolve("internals").resolve(name + ".md"));
    try (Stream<Path> files = Files.list(DOCS.resolve(name))) {
      assertThat(files.map(file -> file.getFileName().toString()))
          .containsExactlyInAnyOrderElementsOf(
              plots()
                  .filter(plot -> plot.page().equals(name))
                  .map(plot -> plot.file() + ".svg")
                  .toList())
          .allSatisfy(
              file ->
                  assertThat(page)
                      .containsPattern(
                          "]\\((\\.\\./)?" + name + "/" + Pattern.quote(file) + "\\)"));
    }
  }
}
