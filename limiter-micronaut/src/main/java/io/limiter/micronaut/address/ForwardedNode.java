// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.address;

import org.jspecify.annotations.Nullable;

/**
 * Reads the node identifier of a hop (RFC 7239, section 6): an address, IPv6 also in brackets, with
 * or without a port. {@code unknown}, {@code _hidden} and anything else is not an address.
 */
final class ForwardedNode {

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
