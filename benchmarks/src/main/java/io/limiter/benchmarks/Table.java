// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A table of results. A cell is a text, a whole number, a {@link Spread} or a {@link Goal}; an
 * empty text for no value.
 */
public final class Table {

  private final String title;
  private final List<String> columns;
  private final List<List<Object>> rows = new ArrayList<>();
  private final List<String> notes = new ArrayList<>();

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
          "A row of '%s' has %d cells: give it %d, %s"
              .formatted(title, cells.length, columns.size(), columns));
    }
    rows.add(List.copyOf(Arrays.asList(cells)));
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
    return json;
  }
}
