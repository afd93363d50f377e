// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.plot;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Lines over the seconds of a recording, with bands for its phases. */
public final class TimeChart {

  private static final int WIDTH = 720;
  private static final int LEFT = 60;
  private static final int RIGHT = WIDTH - 30;
  private static final int LEGEND = 48;
  private static final int ROW = 18;
  private static final int PLOT = 130;
  private static final int LABEL_STEP = 30;
  private static final int CHARACTER = 7;
  private static final int MARK = 48;

  /** Lines beyond these are drawn in them again, in dashes. */
  private static final List<String> COLOURS = List.of(Svg.BLUE, Svg.GREEN, Svg.RED, Svg.GREY);

  private record Phase(String name, int from, int to) {}

  private final String title;
  private final String subtitle;
  private final Map<String, double[]> lines = new LinkedHashMap<>();
  private final List<Phase> phases = new ArrayList<>();

  public TimeChart(String title, String subtitle) {
    this.title = title;
    this.subtitle = subtitle;
  }

  /** A value for each second; none where it is not a number. */
  public TimeChart line(String name, double[] values) {
    lines.put(name, values);
    return this;
  }

  public TimeChart phase(String name, int from, int to) {
    phases.add(new Phase(name, from, to));
    return this;
  }

  public void write(Path file) throws IOException {
    Svg.write(file, svg());
  }

  public String svg() {
    int seconds = lines.values().stream().mapToInt(values -> values.length).max().orElse(1);
    double most =
        lines.values().stream()
            .flatMapToDouble(Arrays::stream)
            .filter(value -> !Double.isNaN(value))
            .max()
            .orElse(0);
    double top = round(most);
    Svg svg = new Svg();
    svg.text(RIGHT, 26, "end", subtitle);
    int rows = legend(svg);
    int begin = LEGEND + ROW * rows + ROW;
    int end = begin + PLOT;
    for (Phase phase : phases) {
      double from = x(phase.from, seconds);
      svg.rect(from, begin, x(phase.to, seconds) - from, PLOT, Svg.BAND);
      svg.text((from + x(phase.to, seconds)) / 2, begin - 5.0, "middle", phase.name);
    }
    for (double value : new double[] {0, top / 2, top}) {
      double y = end - PLOT * value / top;
      svg.path("M%s %sH%s".formatted(LEFT, Svg.number(y), RIGHT), Svg.LINE, 1);
      svg.text(LEFT - 6.0, y + 4, "end", text(value));
    }
    for (int at = 0; at <= seconds; at += LABEL_STEP) {
      svg.text(x(at, seconds), end + 18.0, "middle", at + " s");
    }
    int number = 0;
    for (double[] values : lines.values()) {
      String steps = steps(values, seconds, end, top);
      if (!steps.isEmpty()) {
        svg.path(steps, colour(number), 2, isDashed(number));
      }
      number++;
    }
    return svg.svg(title, WIDTH, end + 30);
  }

  /** The number of its rows. */
  private int legend(Svg svg) {
    int row = 0;
    int x = LEFT;
    int number = 0;
    for (String name : lines.keySet()) {
      int width = MARK + CHARACTER * name.length();
      if (x + width > RIGHT && x > LEFT) {
        row++;
        x = LEFT;
      }
      int y = LEGEND + ROW * row;
      svg.path("M%s %sh18".formatted(x, y - 4), colour(number), 2, isDashed(number));
      svg.text(x + 24.0, y, "start", name);
      x += width;
      number++;
    }
    return row + 1;
  }

  private static String colour(int number) {
    return COLOURS.get(number % COLOURS.size());
  }

  private static boolean isDashed(int number) {
    return number >= COLOURS.size();
  }

  private static String steps(double[] values, int seconds, int end, double top) {
    StringBuilder steps = new StringBuilder();
    boolean on = false;
    for (int at = 0; at < values.length; at++) {
      boolean there = !Double.isNaN(values[at]);
      if (there) {
        steps
            .append(on ? 'L' : 'M')
            .append(Svg.number(x(at, seconds)))
            .append(' ')
            .append(Svg.number(end - PLOT * values[at] / top));
      }
      on = there;
    }
    return steps.toString();
  }

  private static double x(int at, int seconds) {
    return LEFT + (RIGHT - LEFT) * (double) at / Math.max(1, seconds - 1);
  }

  /** The next of 1, 2, 5, 10, and so on; at least 1 per mille. */
  private static double round(double most) {
    double unit = Math.pow(10, Math.floor(Math.log10(Math.max(most, 1e-3))));
    for (double factor : new double[] {1, 2, 5}) {
      if (most <= factor * unit) {
        return factor * unit;
      }
    }
    return 10 * unit;
  }

  private static String text(double value) {
    return value == Math.rint(value)
        ? String.format(Locale.ROOT, "%,.0f", value)
        : Double.toString(Math.round(value * 1e4) / 1e4);
  }
}
