// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import io.limiter.planner.Proposal.Point;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The frame of the HTML report and its plots, as SVG within it. */
final class HtmlPlots {

  private static final int WIDTH = 640;
  private static final int HEIGHT = 240;
  private static final int LEFT = 64;
  private static final int BOTTOM = 40;
  private static final int TOP = 12;
  private static final int RIGHT = 8;
  private static final int MAX_BARS = 160;

  private static final String HEAD =
      """
      <!doctype html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <title>%s</title>
      <style>
      :root { color-scheme: light dark; --ink: #1f2328; --paper: #fff; --line: #c8ccd1; --calls: #6e7781; --denied: #cf222e; --band: #f3f4f6; }
      @media (prefers-color-scheme: dark) {
        :root { --ink: #e6edf3; --paper: #0d1117; --line: #3d444d; --calls: #9198a1; --denied: #ff7b72; --band: #161b22; }
      }
      body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
      main { max-width: 60rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
      h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
      .wide { overflow-x: auto; margin: 1rem 0; }
      table { border-collapse: collapse; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
      th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
      th:first-child { text-align: left; }
      dl { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .25rem 1rem; }
      dt { font-weight: 600; } dd { margin: 0; }
      pre { background: var(--band); padding: .75rem; overflow-x: auto; }
      figure { margin: 1rem 0; } figcaption { font-weight: 600; }
      svg { display: block; width: 100%%; height: auto; }
      svg text { fill: var(--ink); font-size: 13px; }
      .calls { fill: var(--calls); } .denied { fill: var(--denied); }
      .axis { stroke: var(--line); } .curve { fill: none; stroke: var(--denied); stroke-width: 2; }
      .key { display: inline-block; width: .8rem; height: .8rem; margin: 0 .3rem 0 .8rem; }
      @media (max-width: 480px) { svg text { font-size: 19px; } dl { grid-template-columns: 1fr; } dd { margin-bottom: .5rem; } }
      </style>
      </head>
      <body>
      <main>
      """;

  private HtmlPlots() {}

  /**
   * A bar of a plot.
   *
   * @param label below it
   * @param value its height
   * @param part how much of it is denied
   */
  record Bar(String label, long value, long part) {}

  static String head(String title) {
    return HEAD.formatted(escape(title));
  }

  static String escape(String text) {
    return text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\"", "&quot;");
  }

  /** Joins neighbours until there are as many bars as can be distinguished. */
  static List<Bar> joined(List<Bar> bars) {
    int each = (bars.size() + MAX_BARS - 1) / MAX_BARS;
    List<Bar> joined = new ArrayList<>();
    for (int from = 0; from < bars.size(); from += Math.max(1, each)) {
      long value = 0;
      long part = 0;
      for (Bar bar : bars.subList(from, Math.min(bars.size(), from + each))) {
        value += bar.value();
        part += bar.part();
      }
      joined.add(new Bar(bars.get(from).label(), value, part));
    }
    return joined;
  }

  /**
   * Bars from the left to the right.
   *
   * @param logarithmic whether the heights are logarithms, so that single subjects are seen
   */
  static String bars(String title, String across, String up, List<Bar> bars, boolean logarithmic) {
    long most = bars.stream().mapToLong(Bar::value).max().orElse(0);
    if (most == 0) {
      return "";
    }
    StringBuilder svg = new StringBuilder();
    double width = (double) (WIDTH - LEFT - RIGHT) / bars.size();
    for (int b = 0; b < bars.size(); b++) {
      Bar bar = bars.get(b);
      double x = LEFT + b * width;
      String hint =
          "%s: %s%s"
              .formatted(
                  bar.label(),
                  Report.number(bar.value()),
                  bar.part() > 0 ? ", denied " + Report.number(bar.part()) : "");
      svg.append("<g><title>").append(escape(hint)).append("</title>");
      rectangle(svg, "calls", x, width, height(bar.value(), most, logarithmic));
      rectangle(svg, "denied", x, width, height(bar.part(), most, logarithmic));
      svg.append("</g>\n");
    }
    labels(svg, bars.get(0).label(), bars.get(bars.size() - 1).label(), across);
    String scale = Report.number(most) + (logarithmic ? ", logarithmic" : "");
    boolean denials = bars.stream().anyMatch(bar -> bar.part() > 0);
    String keys =
        denials
            ? "<span class=\"key\" style=\"background: var(--calls)\"></span>calls<span class=\"key\" style=\"background: var(--denied)\"></span>denied"
            : "";
    return figure(title, up, scale, svg, keys);
  }

  private static double height(long value, long most, boolean logarithmic) {
    int all = HEIGHT - TOP - BOTTOM;
    return logarithmic
        ? all * Math.log1p((double) value) / Math.log1p((double) most)
        : (double) all * value / most;
  }

  private static void rectangle(
      StringBuilder svg, String kind, double x, double width, double height) {
    if (height > 0) {
      svg.append(
          String.format(
              Locale.ROOT,
              "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
              kind,
              x,
              HEIGHT - BOTTOM - height,
              Math.max(0.5, width - Math.min(1, width / 5)),
              height));
    }
  }

  /** What each count would deny. */
  static String line(String title, String across, String up, List<Point> points) {
    long least = points.get(0).count();
    long last = points.get(points.size() - 1).count();
    long most = Math.max(1, points.stream().mapToLong(Point::deniedCalls).max().orElse(1));
    StringBuilder svg = new StringBuilder("<polyline class=\"curve\" points=\"");
    StringBuilder dots = new StringBuilder();
    for (Point point : points) {
      double x =
          LEFT
              + (double) (WIDTH - LEFT - RIGHT)
                  * (point.count() - least)
                  / Math.max(1, last - least);
      double y = HEIGHT - BOTTOM - height(point.deniedCalls(), most, false);
      svg.append(String.format(Locale.ROOT, "%.1f,%.1f ", x, y));
      dots.append(
          String.format(
              Locale.ROOT,
              "<circle class=\"denied\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>%s: %s calls of %s subjects</title></circle>\n",
              x,
              y,
              Report.number(point.count()),
              Report.number(point.deniedCalls()),
              Report.number(point.deniedSubjects())));
    }
    svg.append("\"/>\n").append(dots);
    labels(svg, Report.number(least), Report.number(last), across);
    return figure(title, up, Report.number(most), svg, "");
  }

  private static void labels(StringBuilder svg, String first, String last, String across) {
    int y = HEIGHT - BOTTOM + 18;
    text(svg, LEFT, y, "start", first);
    text(svg, WIDTH - RIGHT, y, "end", last.equals(first) ? "" : last);
    text(svg, (LEFT + WIDTH) / 2, HEIGHT - 4, "middle", across);
  }

  private static void text(StringBuilder svg, int x, int y, String anchor, String text) {
    svg.append(
        "<text x=\"%s\" y=\"%s\" text-anchor=\"%s\">%s</text>\n"
            .formatted(x, y, anchor, escape(text)));
  }

  private static String figure(
      String title, String up, String scale, StringBuilder content, String keys) {
    StringBuilder svg = new StringBuilder();
    svg.append("<figure><figcaption>").append(escape(title)).append(keys).append("</figcaption>\n");
    svg.append(
        "<svg viewBox=\"0 0 %s %s\" role=\"img\" aria-label=\"%s\">\n"
            .formatted(WIDTH, HEIGHT, escape(title + "; the highest has " + scale)));
    int base = HEIGHT - BOTTOM;
    svg.append(
        "<line class=\"axis\" x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\"/>\n"
            .formatted(LEFT, base, WIDTH - RIGHT, base));
    svg.append(content);
    text(svg, LEFT - 6, TOP + 8, "end", shortNumber(scale));
    text(svg, LEFT - 6, base, "end", "0");
    return svg.append("</svg>\n<small>Up: ")
        .append(escape(up + ", to " + scale))
        .append("</small></figure>\n")
        .toString();
  }

  /** Without the remark behind the number; large ones in thousands or millions. */
  private static String shortNumber(String scale) {
    long value = Long.parseLong(scale.replaceAll("\\D", ""));
    if (value >= 10_000_000) {
      return value / 1_000_000 + " M";
    }
    return value >= 100_000 ? value / 1_000 + " k" : Report.number(value);
  }
}
