// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.plot;

import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * A run, drawn: when calls came, which were admitted, and what was left. It has a background of its
 * own, which is dark where the page is, and distinguishes rows by position, not by colour alone.
 */
final class Picture {

  private static final int WIDTH = 720;
  private static final int HEIGHT = 216;
  private static final int LEFT = 76;
  private static final int RIGHT = WIDTH - 16;
  private static final int TOP_OF_LEFT = 108;
  private static final int BOTTOM = 184;

  private final String title;
  private final Run run;
  private final long count;

  /**
   * @param count the most units that can be left
   */
  Picture(String title, Run run, long count) {
    this.title = title;
    this.run = run;
    this.count = count;
  }

  String svg() {
    List<Integer> all = run.calls().stream().map(Run.Call::at).toList();
    return """
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %1$s %2$s" width="%1$s" height="%2$s" role="img" aria-labelledby="t d">
    <title id="t">%3$s</title>
    <desc id="d">%4$s</desc>
    <style>
    %15$s</style>
    <rect width="%1$s" height="%2$s" rx="6" fill="#fff" stroke="#d0d7de"/>
    %5$s<g font-family="sans-serif" font-size="12" fill="#57606a">
    <text x="16" y="26" font-size="14" fill="#1f2328">%3$s</text>
    <text x="%6$s" y="26" text-anchor="end">%4$s</text>
    <text x="16" y="53">calls</text><text x="16" y="71" fill="#1a7f37">%14$s</text><text x="16" y="89" fill="#b3261e">denied</text>
    <text x="16" y="%7$s" fill="#0550ae">left</text>
    %8$s</g>
    <g fill="none" stroke-width="2">
    %9$s
    <path stroke="#57606a" stroke-width="1" d="%10$s"/>
    <path stroke="#1a7f37" d="%11$s"/>
    <path stroke="#b3261e" d="%12$s"/>
    <path stroke="#0550ae" d="%13$s"/>
    </g>
    </svg>
    """
        .formatted(
            WIDTH,
            HEIGHT,
            title,
            summary(),
            bans(),
            RIGHT,
            (TOP_OF_LEFT + BOTTOM) / 2 + 4,
            labels(),
            grid(),
            ticks(all, 46, 6),
            ticks(run.times(true), 61, 12),
            ticks(run.times(false), 79, 12),
            steps(),
            run.waits() ? "departed" : "admitted",
            Svg.STYLE);
  }

  private String summary() {
    return "%s calls, %s admitted; at most %s %sin any %s s"
        .formatted(
            run.calls().size(),
            run.times(true).size(),
            run.most(),
            run.waits() ? "depart " : "",
            Run.WINDOW.toSeconds());
  }

  /** A band for each time in which the subject was banned. */
  private String bans() {
    StringBuilder bands = new StringBuilder();
    List<Integer> looks = run.bans();
    int begin = 0;
    for (int i = 0; i < looks.size(); i++) {
      boolean last = i + 1 == looks.size() || looks.get(i + 1) - looks.get(i) > Run.STEP;
      if (last) {
        int from = looks.get(begin);
        int to = looks.get(i) + Run.STEP;
        bands.append(
            """
            <rect x="%1$s" y="40" width="%2$s" height="%3$s" fill="#ffebe9"/>
            <text x="%4$s" y="%5$s" text-anchor="middle" font-family="sans-serif" font-size="12" fill="#b3261e">banned</text>
            """
                .formatted(
                    x(from),
                    text(place(to) - place(from)),
                    BOTTOM - 40,
                    x((from + to) / 2),
                    TOP_OF_LEFT - 5));
        begin = i + 1;
      }
    }
    return bands.toString();
  }

  private String labels() {
    StringBuilder labels = new StringBuilder();
    for (int at = 0; at <= Run.LENGTH; at += 5_000) {
      labels.append(
          "<text x=\"%s\" y=\"%s\" text-anchor=\"middle\">%s s</text>"
              .formatted(x(at), BOTTOM + 18, at / 1_000));
    }
    for (long units : new long[] {0, count}) {
      labels.append(
          "<text x=\"%s\" y=\"%s\" text-anchor=\"end\">%s</text>"
              .formatted(LEFT - 6, text(height(units) + 4), units));
    }
    return labels.append('\n').toString();
  }

  private String grid() {
    StringBuilder windows = new StringBuilder();
    for (int at = 0; at <= Run.LENGTH; at += (int) Run.WINDOW.toMillis()) {
      windows.append("M%s 40V%s".formatted(x(at), BOTTOM));
    }
    return "<path stroke=\"#d0d7de\" stroke-width=\"1\" d=\"M%1$s %2$sH%3$sM%1$s %4$sH%3$s%5$s\"/>"
        .formatted(LEFT, TOP_OF_LEFT, RIGHT, BOTTOM, windows);
  }

  private static String ticks(List<Integer> times, int top, int length) {
    return times.stream()
        .filter(at -> at <= Run.LENGTH)
        .map(at -> "M%s %sv%s".formatted(x(at), top, length))
        .collect(Collectors.joining());
  }

  private String steps() {
    StringBuilder path = new StringBuilder();
    long before = -1;
    for (Run.Left left : run.left()) {
      if (before < 0) {
        path.append("M%s %s".formatted(x(left.at()), text(height(left.units()))));
      } else if (left.units() != before) {
        path.append("H%sV%s".formatted(x(left.at()), text(height(left.units()))));
      }
      before = left.units();
    }
    return path.append("H").append(RIGHT).toString();
  }

  private double height(long units) {
    return BOTTOM - (BOTTOM - TOP_OF_LEFT) * (double) units / (double) count;
  }

  private static double place(int at) {
    return LEFT + (RIGHT - LEFT) * (double) at / Run.LENGTH;
  }

  private static String x(int at) {
    return text(place(at));
  }

  private static String text(double number) {
    String text = String.format(Locale.ROOT, "%.1f", number);
    return text.endsWith(".0") ? text.substring(0, text.length() - 2) : text;
  }
}
