// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.plot;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** The frame that all plots share, in the colours of the pictures in the documentation. */
final class Svg {

  static final String INK = "#1f2328";
  static final String BLUE = "#0550ae";
  static final String GREEN = "#1a7f37";
  static final String RED = "#b3261e";
  static final String GREY = "#57606a";
  static final String LINE = "#d0d7de";
  static final String BAND = "#f0f3f6";

  /** The colours of a dark page, in all drawn pictures. */
  static final String STYLE =
      """
      @media (prefers-color-scheme: dark) {
      [fill="#fff"] { fill: #0d1117 }
      [fill="#f0f3f6"] { fill: #21262d }
      [fill="#ffebe9"] { fill: #4a1d20 }
      [fill="#1f2328"] { fill: #f0f6fc }
      [stroke="#1f2328"] { stroke: #f0f6fc }
      [fill="#57606a"] { fill: #9198a1 }
      [stroke="#57606a"] { stroke: #9198a1 }
      [fill="#d0d7de"] { fill: #3d444d }
      [stroke="#d0d7de"] { stroke: #3d444d }
      [fill="#0550ae"] { fill: #58a6ff }
      [stroke="#0550ae"] { stroke: #58a6ff }
      [fill="#1a7f37"] { fill: #3fb950 }
      [stroke="#1a7f37"] { stroke: #3fb950 }
      [fill="#b3261e"] { fill: #ff7b72 }
      [stroke="#b3261e"] { stroke: #ff7b72 }
      }
      """;

  private final StringBuilder body = new StringBuilder();

  Svg text(double x, double y, String anchor, String text) {
    return add(
        "<text x=\"%s\" y=\"%s\" text-anchor=\"%s\">%s</text>"
            .formatted(number(x), number(y), anchor, escaped(text)));
  }

  Svg rect(double x, double y, double width, double height, String fill) {
    return add(
        "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" fill=\"%s\"/>"
            .formatted(number(x), number(y), number(width), number(height), fill));
  }

  Svg path(String steps, String stroke, double width) {
    return path(steps, stroke, width, false);
  }

  Svg path(String steps, String stroke, double width, boolean dashed) {
    return add(
        "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"%s/>"
            .formatted(steps, stroke, number(width), dashed ? " stroke-dasharray=\"5 3\"" : ""));
  }

  /** With a title, and a smaller line below it if there is one. */
  Svg box(double x, double y, double width, double height, String title, String line) {
    add(
        "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" rx=\"5\" fill=\"%s\" stroke=\"%s\"/>"
            .formatted(number(x), number(y), number(width), number(height), BAND, GREY));
    double middle = y + height / 2 + 4;
    add(
        "<text x=\"%s\" y=\"%s\" text-anchor=\"middle\" fill=\"%s\">%s</text>"
            .formatted(
                number(x + width / 2),
                number(line.isEmpty() ? middle : middle - 8),
                INK,
                escaped(title)));
    return line.isEmpty() ? this : text(x + width / 2, middle + 9, "middle", line);
  }

  /** Along one axis. */
  Svg arrow(double fromX, double fromY, double toX, double toY, String colour) {
    path(
        "M%s %sL%s %s".formatted(number(fromX), number(fromY), number(toX), number(toY)),
        colour,
        1.5);
    double right = Math.signum(toX - fromX);
    double down = Math.signum(toY - fromY);
    return add(
        "<path d=\"M%s %sL%s %sL%s %sZ\" fill=\"%s\"/>"
            .formatted(
                number(toX),
                number(toY),
                number(toX - 8 * right - 4 * down),
                number(toY - 8 * down - 4 * right),
                number(toX - 8 * right + 4 * down),
                number(toY - 8 * down + 4 * right),
                colour));
  }

  private Svg add(String element) {
    body.append(element).append('\n');
    return this;
  }

  /** The whole picture, with a title and a background of its own. */
  String svg(String title, int width, int height) {
    return """
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %1$d %2$d" width="%1$d" height="%2$d" role="img" aria-labelledby="t">
    <title id="t">%3$s</title>
    <style>
    %5$s</style>
    <rect width="%1$d" height="%2$d" rx="6" fill="#fff" stroke="#d0d7de"/>
    <g font-family="sans-serif" font-size="12" fill="#57606a">
    <text x="16" y="26" font-size="14" fill="#1f2328">%3$s</text>
    %4$s</g>
    </svg>
    """
        .formatted(width, height, escaped(title), body, STYLE);
  }

  static void write(Path file, String svg) throws IOException {
    Path directory = file.toAbsolutePath().getParent();
    if (directory != null) {
      Files.createDirectories(directory);
    }
    Files.writeString(file, svg);
  }

  static String number(double number) {
    String text = String.format(Locale.ROOT, "%.1f", number);
    return text.endsWith(".0") ? text.substring(0, text.length() - 2) : text;
  }

  private static String escaped(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
  }
}
