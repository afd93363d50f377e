// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.address;

import org.jspecify.annotations.Nullable;

/**
 * {@code Forwarded: for=client;proto=https, for="[2001:db8::1]:4711"} (RFC 7239).
 *
 * <p>An unquoted value may contain every character that does not end it: proxies write {@code
 * for=192.0.2.1:4711}, although its colon should be in quotes.
 */
final class ForwardedSyntax implements ForwardedHeader.HopSyntax {

  /**
   * Commas in quotes do not end an element. Read from the right, the opening quote is the first one
   * without a backslash before it: quotes inside the text have one, and the opening quote follows
   * an equals sign.
   */
  @Override
  public int start(String line, int floor, int end) {
    boolean quoted = false;
    int start = end;
    for (; start > floor; start--) {
      char c = line.charAt(start - 1);
      if (c == ',' && !quoted) {
        return start;
      }
      boolean escaped = quoted && start - 1 > floor && line.charAt(start - 2) == '\\';
      if (c == '"' && !escaped) {
        quoted = !quoted;
      }
    }
    return start;
  }

  /**
   * An element with two {@code for} parameters has no address: a client could make a proxy that
   * does not quote write the second one.
   */
  @Override
  public @Nullable IpAddress read(String line, int from, int to) {
    IpAddress found = null;
    boolean named = false;
    int at = from;
    while (at <= to) {
      int begin = ForwardedHeader.HopSyntax.skipBlanks(line, at, to);
      int end = parameterEnd(line, begin, to);
      int last = ForwardedHeader.HopSyntax.dropBlanks(line, begin, end);
      if (last > begin) {
        int equals = IpText.find(line, '=', begin, last);
        if (equals < 0 || !isValue(line, equals + 1, last)) {
          return null;
        }
        if (equals - begin == 3 && line.regionMatches(true, begin, "for", 0, 3)) {
          if (named) {
            return null;
          }
          named = true;
          found = ForwardedNode.readQuoted(line, equals + 1, last);
        }
      }
      at = end + 1;
    }
    return found;
  }

  /** The index of the unquoted semicolon after a parameter, or the end of the element. */
  private static int parameterEnd(String line, int from, int to) {
    boolean quoted = false;
    int at = from;
    for (; at < to && (quoted || line.charAt(at) != ';'); at++) {
      char c = line.charAt(at);
      if (c == '"') {
        quoted = !quoted;
      } else if (c == '\\' && quoted) {
        at++;
      }
    }
    return Math.min(at, to);
  }

  /** Whether the value is a quoted string, or has neither quotes nor blanks. */
  private static boolean isValue(String line, int from, int to) {
    if (from == to) {
      return false;
    }
    boolean quoted = line.charAt(from) == '"';
    for (int at = quoted ? from + 1 : from; at < to; at++) {
      char c = line.charAt(at);
      if (c == '"') {
        return quoted && at + 1 == to;
      }
      if (c == '\\' && quoted) {
        at++;
      } else if (!quoted && ForwardedHeader.HopSyntax.isBlank(c)) {
        return false;
      }
    }
    return !quoted;
  }

  /**
   * Reads the node identifier of a hop (RFC 7239, section 6): an address, IPv6 also in brackets,
   * with or without a port. {@code unknown}, {@code _hidden} and anything else is not an address.
   */
  static final class ForwardedNode {

    private static final int MAX_PORT = 65_535;

    private ForwardedNode() {}

    /** The address between these indexes, the second exclusive; null if there is none. */
    static @Nullable IpAddress read(String text, int from, int to) {
      if (from < to && text.charAt(from) == '[') {
        int close = IpText.find(text, ']', from, to);
        boolean ipv6 = close > 0 && IpText.find(text, ':', from, close) > 0;
        return ipv6 && (close + 1 == to || isPort(text, close + 1, to))
            ? IpText.read(text, from + 1, close)
            : null;
      }
      int colon = IpText.find(text, ':', from, to);
      boolean one = colon >= 0 && IpText.find(text, ':', colon + 1, to) < 0;
      if (!one) {
        return IpText.read(text, from, to);
      }
      return isPort(text, colon, to) ? IpText.read(text, from, colon) : null;
    }

    /** The same, possibly in quotes. Text that needs an escape is not an address. */
    static @Nullable IpAddress readQuoted(String text, int from, int to) {
      boolean quoted = to - from >= 2 && text.charAt(from) == '"' && text.charAt(to - 1) == '"';
      return quoted ? read(text, from + 1, to - 1) : read(text, from, to);
    }

    /** A colon, followed by a port number or an obfuscated port. */
    private static boolean isPort(String text, int colon, int to) {
      int from = colon + 1;
      if (text.charAt(colon) != ':' || from == to) {
        return false;
      }
      if (text.charAt(from) == '_') {
        return IpText.isName(text, from + 1, to);
      }
      int port = 0;
      for (int at = from; at < to; at++) {
        if (at - from == 5 || !IpText.isDigit(text.charAt(at))) {
          return false;
        }
        port = port * 10 + text.charAt(at) - '0';
      }
      return port <= MAX_PORT;
    }
  }
}
