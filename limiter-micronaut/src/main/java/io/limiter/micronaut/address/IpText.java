// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.address;

import org.jspecify.annotations.Nullable;

/**
 * Parses literals of IP addresses in one pass; it never looks up a name. It is strict, because
 * attackers exploit parsers that disagree about an address: IPv4 is four decimal numbers without
 * leading zeros, never octal, hexadecimal or fewer; IPv6 is as in RFC 4291, 2.2, in ASCII. A zone
 * ({@code fe80::1%eth0}) is dropped: it has a meaning only on the machine that wrote it.
 */
final class IpText {

  private static final int GROUPS = 8;

  private IpText() {}

  /** The address between these indexes, the second exclusive; null if there is none. */
  static @Nullable IpAddress read(String text, int from, int to) {
    if (find(text, ':', from, to) < 0) {
      long bits = ipv4(text, from, to);
      return bits < 0 ? null : IpAddress.ofIpv4(bits);
    }
    int zone = find(text, '%', from, to);
    if (zone < 0) {
      return ipv6(text, from, to);
    }
    return isName(text, zone + 1, to) ? ipv6(text, from, zone) : null;
  }

  /** The 32 bits of an IPv4 address, or -1. */
  static long ipv4(String text, int from, int to) {
    long bits = 0;
    int at = from;
    for (int part = 0; part < 4; part++) {
      if (part > 0 && (at == to || text.charAt(at++) != '.')) {
        return -1;
      }
      int begin = at;
      int value = 0;
      for (; at < to && at - begin < 3 && isDigit(text.charAt(at)); at++) {
        value = value * 10 + text.charAt(at) - '0';
      }
      boolean leadingZero = at - begin > 1 && text.charAt(begin) == '0';
      if (at == begin || value > 255 || leadingZero) {
        return -1;
      }
      bits = bits << 8 | value;
    }
    return at == to ? bits : -1;
  }

  private static @Nullable IpAddress ipv6(String text, int from, int to) {
    Groups groups = new Groups();
    int at = from;
    while (at < to) {
      if (at + 1 < to && text.charAt(at) == ':' && text.charAt(at + 1) == ':') {
        if (!groups.gap()) {
          return null;
        }
        at += 2;
        if (at == to) {
          break;
        }
      } else if (at > from && text.charAt(at++) != ':') {
        return null;
      }
      int begin = at;
      int value = 0;
      for (; at < to && at - begin < 4 && isHex(text.charAt(at)); at++) {
        value = value << 4 | Character.digit(text.charAt(at), 16);
      }
      if (at == begin) {
        return null;
      }
      if (at < to && text.charAt(at) == '.') {
        long tail = ipv4(text, begin, to);
        return tail < 0 || !groups.add((int) (tail >>> 16)) || !groups.add((int) tail & 0xffff)
            ? null
            : groups.address();
      }
      if (!groups.add(value)) {
        return null;
      }
    }
    return groups.address();
  }

  /** The groups of 16 bits of an IPv6 address, before and after the gap of {@code ::}. */
  private static final class Groups {

    private long headHigh;
    private long headLow;
    private long high;
    private long low;
    private int count;
    private int beforeGap = -1;

    /** Returns false if there are too many groups. */
    boolean add(int group) {
      high = high << 16 | low >>> 48;
      low = low << 16 | group;
      return ++count <= GROUPS;
    }

    /** Returns false if there is a gap already. */
    boolean gap() {
      if (beforeGap >= 0) {
        return false;
      }
      beforeGap = count;
      headHigh = high;
      headLow = low;
      high = 0;
      low = 0;
      return true;
    }

    /**
     * Returns null unless there are eight groups, or fewer and a gap, which represents one or more
     * groups.
     */
    @Nullable IpAddress address() {
      if (beforeGap < 0 ? count != GROUPS : count == GROUPS) {
        return null;
      }
      if (beforeGap <= 0) {
        return new IpAddress(high, low);
      }
      int shift = (GROUPS - beforeGap) * 16;
      return shift >= Long.SIZE
          ? new IpAddress(high | headLow << (shift - Long.SIZE), low)
          : new IpAddress(
              high | headHigh << shift | headLow >>> (Long.SIZE - shift), low | headLow << shift);
    }
  }

  /** Like {@link String#indexOf(int)}, but within these bounds; -1 if it is not found. */
  static int find(String text, char wanted, int from, int to) {
    for (int at = from; at < to; at++) {
      if (text.charAt(at) == wanted) {
        return at;
      }
    }
    return -1;
  }

  /** Whether the text consists of one or more letters, digits and {@code . _ -}. */
  static boolean isName(String text, int from, int to) {
    for (int at = from; at < to; at++) {
      char c = text.charAt(at);
      boolean letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      if (!letter && !isDigit(c) && c != '.' && c != '_' && c != '-') {
        return false;
      }
    }
    return to > from;
  }

  static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }

  private static boolean isHex(char c) {
    return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  }
}
