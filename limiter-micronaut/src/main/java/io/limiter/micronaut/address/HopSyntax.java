// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.address;

import org.jspecify.annotations.Nullable;

/**
 * The syntax in which a header lists the hops of a request. It is read from the right, so that text
 * to the left of an element, which a client may have written, does not change how the element is
 * read.
 */
interface HopSyntax {

  /**
   * The index at which the last element begins.
   *
   * @param floor the first index that is read
   * @param end the end of the element
   */
  int start(String line, int floor, int end);

  /** The address of an element; null if it has none. */
  @Nullable IpAddress read(String line, int from, int to);

  /** The index of the first character that is not blank. */
  static int skipBlanks(String line, int from, int to) {
    int at = from;
    while (at < to && isBlank(line.charAt(at))) {
      at++;
    }
    return at;
  }

  /** The index after the last character that is not blank. */
  static int dropBlanks(String line, int from, int to) {
    int end = to;
    while (end > from && isBlank(line.charAt(end - 1))) {
      end--;
    }
    return end;
  }

  /** Whether the character is optional white space in HTTP (RFC 9110, section 5.6.3). */
  static boolean isBlank(char c) {
    return c == ' ' || c == '\t';
  }
}
