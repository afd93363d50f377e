// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.plot;

import io.limiter.benchmarks.Spread;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/** Bars of medians, from top to bottom, with a line from the smallest to the largest result. */
public final class BarChart {

  private static final int WIDTH = 860;
  private static final int LEFT = 380;
  private static final int RIGHT = WIDTH - 60;
  private static final int TOP = 42;
  private static final int ROW = 22;
  private static final int BAR = 14;

  private final String title;
  private final Map<String, Spread> bars = new LinkedHashMap<>();
  private final Map<String, Double> marks = new HashMap<>();
  private String legend = "";

  public BarChart(String title) {
    this.title = title;
  }

  /** What the marks are. */
  public BarChart legend(String text) {
    legend = text;
    return this;
  }

  /** Across the bar of that name, such as at its goal. */
  public BarChart mark(String name, double value) {
    marks.put(name, value);
    return this;
  }

  public BarChart bar(String name, Spread value) {
    bars.put(name, value);
    return this;
  }

  public void write(Path file) throws IOException {
    Svg.write(file, svg());
  }

  String svg() {
    double most = bars.values().stream().mapToDouble(Spread::max).max().orElse(1);
    most = Math.max(most, marks.values().stream().mapToDouble(mark -> mark).max().orElse(0));
    Svg svg = new Svg();
    svg.text(WIDTH - 16, 26, "end", legend);
    int top = TOP;
    for (Map.Entry<String, Spread> bar : bars.entrySet()) {
      Spread value = bar.getValue();
      double middle = top + BAR / 2.0;
      svg.text(LEFT - 8, middle + 4, "end", bar.getKey());
      svg.rect(LEFT, top, x(value.median(), most) - LEFT, BAR, Svg.BLUE);
      svg.path(
          "M%s %sH%s"
              .formatted(
                  Svg.number(x(value.min(), most)),
                  Svg.number(middle),
                  Svg.number(x(value.max(), most))),
          Svg.RED,
          2);
      Double mark = marks.get(bar.getKey());
      if (mark != null) {
        svg.path("M%s %sv%s".formatted(Svg.number(x(mark, most)), top - 3, BAR + 6), Svg.INK, 3);
      }
      double end = Math.max(value.max(), mark == null ? 0 : mark);
      svg.text(x(end, most) + 6, middle + 4, "start", Spread.text(value.median()));
      top += ROW;
    }
    return svg.svg(title, WIDTH, top + 8);
  }

  private static double x(double value, double most) {
    return LEFT + (RIGHT - LEFT) * value / most;
  }
}
