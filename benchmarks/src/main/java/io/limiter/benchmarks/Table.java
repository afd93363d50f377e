// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A table of results. A cell is a text, a whole number, a {@link Spread} or a {@link Goal}; an
 * empty text for no value.
 */
public final class Table {

  private final String title;
  private final List<String> columns;
  private final List<List<Object>> rows = new ArrayList<>();
  private final List<String> notes = new ArrayList<>();
  private final Map<String, Better> better = new LinkedHashMap<>();
  private final Set<String> yardsticks = new LinkedHashSet<>();

  /** The direction in which the figures of a column are better. */
  enum Better {
    MORE,
    LESS
  }

  public Table(String title, String... columns) {
    this.title = title;
    this.columns = List.of(columns);
  }

  /**
   * @throws IllegalArgumentException if there are more or fewer cells than columns
   */
  public Table row(Object... cells) {
    if (cells.length != columns.size()) {
      throw new IllegalArgumentException(
          "A row of '%s' has %s cells: give it %s, %s"
              .formatted(title, cells.length, columns.size(), columns));
    }
    rows.add(List.copyOf(Arrays.asList(cells)));
    return this;
  }

  /**
   * In these columns more is better: {@code compare} reports what got less.
   *
   * @throws IllegalArgumentException if there is no such column
   */
  public Table moreIsBetter(String... names) {
    return better(Better.MORE, names);
  }

  /**
   * In these columns less is better: {@code compare} reports what got more.
   *
   * @throws IllegalArgumentException if there is no such column
   */
  public Table lessIsBetter(String... names) {
    return better(Better.LESS, names);
  }

  private Table better(Better direction, String... names) {
    for (String name : names) {
      if (!columns.contains(name)) {
        throw new IllegalArgumentException(
            "'%s' has no column '%s': give it one of %s".formatted(title, name, columns));
      }
      better.put(name, direction);
    }
    return this;
  }

  /**
   * Names rows, by their first cells, whose figures are not those of the limiter, but what it is
   * measured with: if one gets worse, the limiter does not.
   */
  public Table yardsticks(Collection<String> names) {
    yardsticks.addAll(names);
    return this;
  }

  /** A sentence below the table. */
  public Table note(String note) {
    notes.add(note);
    return this;
  }

  public String title() {
    return title;
  }

  public List<List<Object>> rows() {
    return rows;
  }

  String markdown() {
    StringBuilder text = new StringBuilder("### ").append(title).append("\n\n");
    line(text, columns);
    line(
        text,
        columns.stream().map(column -> column.equals(columns.get(0)) ? "---" : "---:").toList());
    rows.forEach(row -> line(text, row));
    notes.forEach(note -> text.append('\n').append(note).append('\n'));
    return text.append('\n').toString();
  }

  private static void line(StringBuilder text, List<?> cells) {
    text.append('|');
    cells.forEach(cell -> text.append(' ').append(text(cell).replace("|", "\\|")).append(" |"));
    text.append('\n');
  }

  private static String text(Object cell) {
    return cell instanceof Double number ? Spread.text(number) : cell.toString();
  }

  /** Its JSON representation. */
  Map<String, Object> json() {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("title", title);
    json.put("columns", columns);
    json.put("rows", rows);
    json.put("notes", notes);
    json.put("better", better);
    json.put("yardsticks", yardsticks);
    return json;
  }
}
