// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Compares two JSON reports, figure by figure, and finds what got worse beyond the noise of the
 * rounds. The older may be a published one, in Markdown, which has only medians: no change from
 * that is beyond the noise.
 */
final class Compare {

  static final String NAME = "compare";

  static final String HELP =
      "A.json B.json: what got worse from A, or A.md, to B; exits with 1 if any did";

  /** Smaller changes are not reported: two starts of one program differ by as much. */
  private static final double LEAST = 0.02;

  /** A change is beyond the noise if rounds of equal programs are as far apart more rarely. */
  private static final double CHANCE = 0.002;

  private static final Pattern CONDITION = Pattern.compile("\\* ([^:]+): (.*)");
  private static final Pattern CELL_END = Pattern.compile("(?<!\\\\)\\|");

  /** A median, and the range after it: the text of a {@link Spread}. */
  private static final Pattern MEDIAN = Pattern.compile("(-?[0-9,]+(?:\\.[0-9]+)?)(?: \\(.*\\))?");

  /** The conditions that differ between any two runs. */
  private static final Set<String> PASSING = Set.of("command", "date", "load at the start");

  /** The change of one figure. */
  enum Change {
    WORSE("worse"),
    BETTER("better"),
    /** Not beyond the noise, or too small. */
    NONE("within the noise"),
    /** The two runs have so few rounds that not even a clear change would be beyond the noise. */
    TOO_FEW("too few rounds");

    private final String text;

    Change(String text) {
      this.text = text;
    }

    static Change of(Figure before, Figure after) {
      double first = before.spread().median();
      double second = after.spread().median();
      if (Math.abs(second - first) <= LEAST * Math.abs(first)) {
        return NONE;
      }
      boolean noise = !before.counted() || !after.counted();
      List<Double> low = second > first ? before.rounds() : after.rounds();
      List<Double> high = second > first ? after.rounds() : before.rounds();
      if (noise && chance(low.size(), high.size(), 0) > CHANCE) {
        return TOO_FEW;
      }
      if (noise && chance(low.size(), high.size(), contradictions(low, high)) > CHANCE) {
        return NONE;
      }
      return (second > first) == (after.better() == Table.Better.MORE) ? BETTER : WORSE;
    }

    @Override
    public String toString() {
      return text;
    }
  }

  private final JsonNode before;
  private final JsonNode after;
  private int worse;
  private int compared;

  private Compare(JsonNode before, JsonNode after) {
    this.before = before;
    this.after = after;
  }

  /**
   * Prints the comparison.
   *
   * @param files two, each written by {@code --json}; the older first
   * @return the number of figures that got worse
   * @throws UsageException if these are not two reports, or have no figure in common
   */
  static int run(List<String> files, PrintStream out) {
    if (files.size() != 2) {
      throw new UsageException(
          "compare has %s files: give it two that --json has written, the older first"
              .formatted(files.size()));
    }
    Compare compare = new Compare(read(files.get(0)), read(files.get(1)));
    compare.print(out);
    return compare.worse;
  }

  private static JsonNode read(String file) {
    try {
      JsonNode report =
          file.endsWith(".md")
              ? published(Files.readAllLines(Path.of(file)))
              : new ObjectMapper().readTree(Files.readAllBytes(Path.of(file)));
      if (report.path("tables").isArray()) {
        return report;
      }
    } catch (IOException unreadable) {
      throw new UsageException("%s cannot be read: %s".formatted(file, unreadable.getMessage()));
    }
    throw new UsageException(
        "%s is no report: give compare a file that --json has written".formatted(file));
  }

  /** The conditions and tables of a published report. */
  private static JsonNode published(List<String> lines) {
    ObjectNode report = new ObjectMapper().createObjectNode();
    ObjectNode about = report.putObject("about");
    ArrayNode tables = report.putArray("tables");
    ObjectNode table = tables.addObject();
    for (String line : lines) {
      Matcher condition = CONDITION.matcher(line);
      if (condition.matches()) {
        about.put(condition.group(1), condition.group(2));
      } else if (line.startsWith("## ")) {
        table = tables.addObject().put("title", line.substring(3));
      } else if (line.startsWith("| ") && !line.startsWith("| --")) {
        boolean first = table.path("columns").isMissingNode();
        ArrayNode cells = first ? table.putArray("columns") : table.withArray("rows").addArray();
        for (String written : CELL_END.split(line.substring(1))) {
          String cell = written.strip();
          Matcher median = MEDIAN.matcher(cell);
          if (!first && median.matches()) {
            double value = Double.parseDouble(median.group(1).replace(",", ""));
            cells.addObject().putArray("rounds").add(value);
          } else {
            cells.add(cell.replace("\\|", "|"));
          }
        }
      }
    }
    return report;
  }

  private void print(PrintStream out) {
    conditions(out);
    List<Table> tables = new ArrayList<>();
    for (JsonNode table : after.path("tables")) {
      String title = table.path("title").asText();
      for (JsonNode other : before.path("tables")) {
        if (other.path("title").asText().equals(title)) {
          tables.add(
              table(title, figures(other, table), figures(table, table), table.path("yardsticks")));
        }
      }
    }
    if (compared == 0) {
      throw new UsageException(
          "The two reports have no figure in common: give compare two of the same mode, of this version or later");
    }
    tables.removeIf(table -> table.rows().isEmpty());
    tables.forEach(table -> out.print(table.markdown()));
    out.printf("%s of %s figures got worse.%n", worse, compared);
    out.flush();
  }

  /** Prints the conditions in which the runs differ: over those, only ratios can be compared. */
  private void conditions(PrintStream out) {
    JsonNode about = after.path("about");
    about
        .fieldNames()
        .forEachRemaining(
            name -> {
              String first = before.path("about").path(name).asText("not stated");
              String second = about.path(name).asText();
              if (!PASSING.contains(name) && !first.equals(second)) {
                out.printf("* %s: %s, then %s%n", name, first, second);
              }
            });
    out.println();
  }

  private Table table(
      String title, Map<Key, Figure> first, Map<Key, Figure> second, JsonNode yardsticks) {
    Set<String> names = new HashSet<>();
    yardsticks.forEach(name -> names.add(name.asText()));
    Set<String> shifted = shifted(first, second, names);
    Set<String> related = new HashSet<>();
    second
        .keySet()
        .forEach(
            key -> {
              if (key.isRatio() && first.containsKey(key)) {
                related.add(key.row());
              }
            });
    Table table = new Table(title, "what", "figure", "before", "after", "after ÷ before", "change");
    second.forEach(
        (key, figure) -> {
          Figure old = first.get(key);
          if (old == null) {
            return;
          }
          boolean ours = !names.contains(key.row());
          Change change = Change.of(old, figure);
          boolean machine = !key.isRatio() && shifted.contains(key.column());
          boolean inRatio = key.isOfMachine() && related.contains(key.row());
          if (ours) {
            compared++;
            worse += change == Change.WORSE && !machine && !inRatio ? 1 : 0;
          }
          String why =
              !ours
                  ? " (yardstick)"
                  : machine
                      ? " (the yardsticks changed too)"
                      : inRatio ? " (its ratio counts)" : "";
          double ratio = figure.spread().median() / old.spread().median();
          table.row(
              key.row(),
              key.column(),
              old.spread(),
              figure.spread(),
              Double.isFinite(ratio) ? ratio : "",
              change + (change == Change.WORSE || change == Change.BETTER ? why : ""));
        });
    return table;
  }

  /** The columns in which what the limiter is measured with has changed itself. */
  private static Set<String> shifted(
      Map<Key, Figure> first, Map<Key, Figure> second, Set<String> yardsticks) {
    Set<String> shifted = new HashSet<>();
    second.forEach(
        (key, figure) -> {
          Figure old = first.get(key);
          if (old != null && yardsticks.contains(key.row())) {
            Change change = Change.of(old, figure);
            if (change == Change.WORSE || change == Change.BETTER) {
              shifted.add(key.column());
            }
          }
        });
    return shifted;
  }

  /** The place of a figure in its table. */
  private record Key(String row, String column) {

    /** Whether the machine is mostly cancelled out of it. */
    boolean isRatio() {
      return column.contains("÷");
    }

    /** Whether it is a rate or a time, which depend on what else the machine does. */
    boolean isOfMachine() {
      return !isRatio()
          && (column.endsWith("/s") || column.contains("µs") || column.endsWith(", ms"));
    }
  }

  /**
   * A figure of one run.
   *
   * @param counted whether it is exact: a number of bytes, not a time
   * @param better the direction in which it is better
   */
  record Figure(List<Double> rounds, boolean counted, Table.Better better) {

    /** The figure in a cell; empty if there is none, such as in a report of an older version. */
    static Optional<Figure> of(JsonNode cell, Table.Better better) {
      List<Double> rounds = new ArrayList<>();
      if (cell.isNumber()) {
        rounds.add(cell.asDouble());
      }
      cell.path("rounds").forEach(round -> rounds.add(round.asDouble()));
      return rounds.isEmpty()
          ? Optional.empty()
          : Optional.of(new Figure(rounds, cell.isNumber(), better));
    }

    Spread spread() {
      return Spread.of(rounds);
    }
  }

  /**
   * The figures of a table for which a direction is better.
   *
   * @param later has the directions
   */
  private static Map<Key, Figure> figures(JsonNode table, JsonNode later) {
    Map<Key, Figure> figures = new LinkedHashMap<>();
    for (JsonNode row : table.path("rows")) {
      for (int column = 1; column < row.size(); column++) {
        String name = table.path("columns").path(column).asText();
        String better = later.path("better").path(name).asText();
        if (!better.isEmpty()) {
          Optional<Figure> figure = Figure.of(row.path(column), Table.Better.valueOf(better));
          figure.ifPresent(found -> figures.put(new Key(row.path(0).asText(), name), found));
        }
      }
    }
    return figures;
  }

  /** Pairs of rounds that are not in the order of the medians. */
  private static int contradictions(List<Double> low, List<Double> high) {
    int pairs = 0;
    for (double one : low) {
      for (double other : high) {
        pairs += one >= other ? 1 : 0;
      }
    }
    return pairs;
  }

  /**
   * How probable it is that at most this many pairs contradict an order where there is none, by the
   * test of Mann and Whitney.
   */
  static double chance(int low, int high, int contradictions) {
    // chances[h][c]: of c contradictions among the rounds so far. The greatest of all rounds is a
    // low one with the probability low ÷ (low + high), and then contradicts all high ones.
    double[][] chances = new double[high + 1][contradictions + 1];
    for (int h = 0; h <= high; h++) {
      chances[h][0] = 1;
    }
    for (int l = 1; l <= low; l++) {
      for (int h = 1; h <= high; h++) {
        double[] without = chances[h].clone(); // one low round less
        for (int c = 0; c <= contradictions; c++) {
          double greatestIsLow = c >= h ? without[c - h] : 0;
          chances[h][c] = (l * greatestIsLow + h * chances[h - 1][c]) / (l + h);
        }
      }
    }
    double sum = 0;
    for (double chance : chances[high]) {
      sum += chance;
    }
    return sum;
  }
}
