// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.log;

import io.micronaut.core.annotation.Internal;

/** Texts of others in lines of the log: they can neither forge lines nor fill it. */
@Internal
public final class OneLine {

  private OneLine() {}

  /**
   * A text as part of one line: characters that are not printed become question marks.
   *
   * @param max the most characters of it
   */
  public static String of(String text, int max) {
    StringBuilder line = new StringBuilder(Math.min(text.length(), max));
    text.codePoints()
        .limit(max)
        .forEach(point -> line.appendCodePoint(isPrinted(point) ? point : '?'));
    return line.toString();
  }

  private static boolean isPrinted(int point) {
    return switch (Character.getType(point)) {
      case Character.CONTROL,
          Character.FORMAT,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR,
          Character.SURROGATE ->
          false;
      default -> true;
    };
  }
}
