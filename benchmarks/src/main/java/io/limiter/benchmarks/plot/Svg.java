// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.plot;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** The frame that all plots share, in the colours of the pictures in the documentation. */
final class Svg {

  static final String BLUE = "#0550ae";
  static final String GREEN = "#1a7f37";
  static final String RED = "#b3261e";
  static final String GREY = "#57606a";
  static final String LINE = "#d0d7de";

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

  private Svg add(String element) {
    body.append(element).append('\n');
    return this;
  }

  /** The whole picture, with a title and a background of its own. */
  String svg(String title, int width, int height) {
    return """
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %1$d %2$d" width="%1$d" height="%2$d" role="img" aria-labelledby="t">
    <title id="t">%3$s</title>
    <rect width="%1$d" height="%2$d" rx="6" fill="#fff" stroke="#d0d7de"/>
    <g font-family="sans-serif" font-size="12" fill="#57606a">
    <text x="16" y="26" font-size="14" fill="#1f2328">%3$s</text>
    %4$s</g>
    </svg>
    """
        .formatted(width, height, escaped(title), body);
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
