// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.address;

import java.net.InetAddress;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * The bits of an IP address, so that all spellings of it are equal. An IPv4 address is its
 * IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2): {@code ::ffff:192.0.2.1} is equal to {@code
 * 192.0.2.1}.
 *
 * <p>Literals are parsed in one pass; a name is never looked up. The parser is strict, because
 * attackers exploit parsers that disagree about an address: IPv4 is four decimal numbers without
 * leading zeros, never octal, hexadecimal or fewer; IPv6 is as in RFC 4291, 2.2, in ASCII. A zone
 * ({@code fe80::1%eth0}) is dropped: it has a meaning only on the machine that wrote it.
 *
 * @param high the first 64 bits
 * @param low the last 64 bits
 */
public record IpAddress(long high, long low) {

  private static final long IPV4 = 0xffff_0000_0000L;
  private static final long LOW_32 = 0xffff_ffffL;

  /** The groups of 16 bits in an IPv6 address. */
  private static final int GROUPS = 8;

  /** 64:ff9b::/96, under which translators present IPv4 clients to IPv6 services (RFC 6052). */
  private static final long TRANSLATED = 0x0064_ff9b_0000_0000L;

  /** The address of these 32 bits. */
  static IpAddress ofIpv4(long bits) {
    return new IpAddress(0, IPV4 | bits);
  }

  /** The address with the same bits, without the scope of a link-local address. */
  public static IpAddress of(InetAddress address) {
    ByteBuffer bytes = ByteBuffer.wrap(address.getAddress());
    return bytes.remaining() == Integer.BYTES
        ? ofIpv4(bytes.getInt() & LOW_32)
        : new IpAddress(bytes.getLong(), bytes.getLong());
  }

  /** The address of this literal; null if it is not an address. */
  public static @Nullable IpAddress parse(String text) {
    return read(text, 0, text.length());
  }

  /** Whether it is an IPv4 address. */
  public boolean isIpv4() {
    return high == 0 && low >>> 32 == IPV4 >>> 32;
  }

  /**
   * The text under which this address is counted: an IPv4 address itself; for an IPv6 address its
   * network: {@code 2001:db8:12:34::/64}. Providers assign such a network to a customer, who can
   * use all its addresses. A translated IPv4 address counts as that IPv4 address, since all of them
   * are in one /64.
   *
   * @param ipv6Prefix length of the network's prefix in bits, 1 to 128
   */
  public String network(int ipv6Prefix) {
    if (isIpv4() || (high == TRANSLATED && low >>> 32 == 0)) {
      return (low >>> 24 & 0xff)
          + "."
          + (low >>> 16 & 0xff)
          + "."
          + (low >>> 8 & 0xff)
          + "."
          + (low & 0xff);
    }
    return masked(ipv6Prefix).ipv6() + '/' + ipv6Prefix;
  }

  /** As RFC 5952 recommends: of the groups of zeros, the first of the longest runs is left out. */
  String ipv6() {
    int gap = -1;
    int longest = 1; // one group of zeros is written
    int run = 0;
    for (int i = 0; i < GROUPS; i++) {
      run = group(i) == 0 ? run + 1 : 0;
      if (run > longest) {
        longest = run;
        gap = i + 1 - run;
      }
    }
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < GROUPS; i++) {
      if (i == gap) {
        text.append("::");
        i += longest - 1;
      } else {
        boolean first = text.isEmpty() || text.charAt(text.length() - 1) == ':';
        text.append(first ? "" : ":").append(Integer.toHexString(group(i)));
      }
    }
    return text.toString();
  }

  private int group(int index) {
    long bits = index < GROUPS / 2 ? high : low;
    return (int) ((bits >>> (16 * (3 - index % 4))) & 0xffff);
  }

  /** The address with all bits after the first ones set to zero. */
  IpAddress masked(int bits) {
    return new IpAddress(
        high & mask(Math.min(bits, Long.SIZE)), low & mask(Math.max(bits - Long.SIZE, 0)));
  }

  /** Java's shift by 64 bits has no effect, hence the special case. */
  private static long mask(int bits) {
    return bits == 0 ? 0 : -1L << (Long.SIZE - bits);
  }

  /** The address between these indexes, the second exclusive; null if there is none. */
  static @Nullable IpAddress read(String text, int from, int to) {
    if (find(text, ':', from, to) < 0) {
      long bits = ipv4(text, from, to);
      return bits < 0 ? null : ofIpv4(bits);
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
    HexGroups groups = new HexGroups();
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
  private static final class HexGroups {

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
