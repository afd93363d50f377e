// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.address;

import org.jspecify.annotations.Nullable;

/**
 * How a header lists the hops of a request. It is read from the right, so that nothing to the left
 * of an element, which a caller may have written, changes what the element is.
 */
interface HopSyntax {

  /**
   * Where the last element begins.
   *
   * @param floor nothing before this index is looked at
   * @param end the end of the element
   */
  int start(String line, int floor, int end);

  /** The address of an element; null if it tells none. */
  @Nullable IpAddress read(String line, int from, int to);

  /** The first index that is no blank. */
  static int skipBlanks(String line, int from, int to) {
    int at = from;
    while (at < to && isBlank(line.charAt(at))) {
      at++;
    }
    return at;
  }

  /** The index behind the last that is no blank. */
  static int dropBlanks(String line, int from, int to) {
    int end = to;
    while (end > from && isBlank(line.charAt(end - 1))) {
      end--;
    }
    return end;
  }

  /** What HTTP takes for optional white space (RFC 9110, 5.6.3). */
  static boolean isBlank(char c) {
    return c == ' ' || c == '\t';
  }
}
