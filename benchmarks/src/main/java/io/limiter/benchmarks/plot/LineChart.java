// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.plot;

import io.limiter.benchmarks.Spread;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Lines of medians over powers of ten, with the spread at each point. Lines beyond the colours are
 * dashed.
 */
public final class LineChart {

  private static final int WIDTH = 720;
  private static final int HEIGHT = 260;
  private static final int LEFT = 60;
  private static final int RIGHT = WIDTH - 30;
  private static final int TOP = 60;
  private static final int BOTTOM = HEIGHT - 36;
  private static final List<String> COLOURS = List.of(Svg.BLUE, Svg.GREEN, Svg.RED, Svg.GREY);

  private record Point(double at, Spread value) {}

  private final String title;
  private final Map<String, List<Point>> lines = new LinkedHashMap<>();

  public LineChart(String title) {
    this.title = title;
  }

  /** The next point of a line; its abscissa is above 0. */
  public LineChart point(String line, double at, Spread value) {
    lines.computeIfAbsent(line, name -> new ArrayList<>()).add(new Point(at, value));
    return this;
  }

  public void write(Path file) throws IOException {
    Svg.write(file, svg());
  }

  String svg() {
    List<Point> all = lines.values().stream().flatMap(List::stream).toList();
    double first = Math.log10(all.stream().mapToDouble(Point::at).min().orElse(1));
    double last = Math.log10(all.stream().mapToDouble(Point::at).max().orElse(10));
    double highest = all.stream().mapToDouble(point -> point.value.max()).max().orElse(1);
    double most = highest > 0.9 && highest < 1 ? 1 : highest; // their labels would overlap
    double width = Math.max(1, last - first);
    Svg svg = new Svg();
    for (int power = (int) Math.ceil(first); power <= last; power++) {
      double x = LEFT + (RIGHT - LEFT) * (power - first) / width;
      svg.path("M%s %sV%s".formatted(Svg.number(x), TOP, BOTTOM), Svg.LINE, 1);
      svg.text(x, BOTTOM + 18, "middle", String.format(Locale.ROOT, "%,.0f", Math.pow(10, power)));
    }
    for (double value : new double[] {0, 1, most}) {
      double y = y(value, most);
      svg.path("M%s %sH%s".formatted(LEFT, Svg.number(y), RIGHT), Svg.LINE, 1);
      svg.text(LEFT - 6, y + 4, "end", Svg.number(value));
    }
    int number = 0;
    for (Map.Entry<String, List<Point>> line : lines.entrySet()) {
      String colour = COLOURS.get(number % COLOURS.size());
      boolean dashed = number >= COLOURS.size();
      double legend = LEFT + number * Math.min(160.0, 640.0 / lines.size());
      svg.path("M%s 44h18".formatted(Svg.number(legend)), colour, 2, dashed);
      svg.text(legend + 24, 48, "start", line.getKey());
      StringBuilder steps = new StringBuilder();
      for (Point point : line.getValue()) {
        String x = Svg.number(LEFT + (RIGHT - LEFT) * (Math.log10(point.at) - first) / width);
        steps
            .append(steps.isEmpty() ? 'M' : 'L')
            .append(x)
            .append(' ')
            .append(Svg.number(y(point.value.median(), most)));
        svg.path(
            "M%s %sV%s"
                .formatted(
                    x,
                    Svg.number(y(point.value.min(), most)),
                    Svg.number(y(point.value.max(), most))),
            colour,
            1);
      }
      svg.path(steps.toString(), colour, 2, dashed);
      number++;
    }
    return svg.svg(title, WIDTH, HEIGHT);
  }

  private static double y(double value, double most) {
    return BOTTOM - (BOTTOM - TOP) * value / most;
  }
}
