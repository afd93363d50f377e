// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * An IP address as it is read from the bytes of a line; reused for each line. IPv4 is kept as the
 * IPv6 address that maps it, so that both spellings are one address.
 */
final class Address {

  private static final int BITS = 128;
  private static final long MAPPED = 0xFFFFL << 32;
  private static final int GROUPS = 8;

  /** The first and the last 64 bits. */
  long high;

  long low;

  boolean isIpv4() {
    return high == 0 && low >>> 32 == 0xFFFF;
  }

  /**
   * Reads an address with or without a port, brackets, quotes or the zone of a link. Returns false
   * if it is anything else.
   */
  boolean read(byte[] text, int from, int to) {
    int begin = from;
    int end = to;
    while (begin < end && (text[begin] == ' ' || text[begin] == '"')) {
      begin++;
    }
    while (end > begin && (text[end - 1] == ' ' || text[end - 1] == '"')) {
      end--;
    }
    if (begin < end && text[begin] == '[') {
      int close = LogLine.find(text, ']', begin, end);
      return close > 0 && readIpv6(text, begin + 1, close);
    }
    int colon = LogLine.find(text, ':', begin, end);
    if (colon < 0) {
      return readIpv4(text, begin, end);
    }
    boolean one = LogLine.find(text, ':', colon + 1, end) < 0;
    return one ? readIpv4(text, begin, colon) : readIpv6(text, begin, end);
  }

  private boolean readIpv4(byte[] text, int from, int to) {
    int bits = ipv4(text, from, to);
    if (bits == 0 && !isIpv4Text(text, from, to)) {
      return false;
    }
    high = 0;
    low = MAPPED | (bits & 0xFFFFFFFFL);
    return true;
  }

  private static boolean isIpv4Text(byte[] text, int from, int to) {
    int dots = 0;
    int digits = 0;
    int value = 0;
    for (int i = from; i < to; i++) {
      if (text[i] == '.') {
        if (digits == 0 || ++dots > 3) {
          return false;
        }
        digits = 0;
        value = 0;
      } else if (text[i] < '0' || text[i] > '9' || ++digits > 3) {
        return false;
      } else {
        value = value * 10 + text[i] - '0';
        if (value > 255) {
          return false;
        }
      }
    }
    return dots == 3 && digits > 0;
  }

  /** Its bits; 0 also if it is none. */
  private static int ipv4(byte[] text, int from, int to) {
    if (!isIpv4Text(text, from, to)) {
      return 0;
    }
    int bits = 0;
    int value = 0;
    for (int i = from; i < to; i++) {
      if (text[i] == '.') {
        bits = bits << 8 | value;
        value = 0;
      } else {
        value = value * 10 + text[i] - '0';
      }
    }
    return bits << 8 | value;
  }

  private boolean readIpv6(byte[] text, int from, int to) {
    int zone = LogLine.find(text, '%', from, to);
    int end = zone < 0 ? to : zone;
    long[] halves = new long[2];
    int groups = 0;
    int gap = -1;
    int at = from;
    if (at + 1 < end && text[at] == ':' && text[at + 1] == ':') {
      gap = 0;
      at += 2;
    }
    while (at < end) {
      int stop = LogLine.find(text, ':', at, end);
      stop = stop < 0 ? end : stop;
      if (stop == end && LogLine.find(text, '.', at, end) >= 0) {
        if (groups > GROUPS - 2 || !isIpv4Text(text, at, end)) {
          return false;
        }
        int bits = ipv4(text, at, end);
        put(halves, groups++, bits >>> 16);
        put(halves, groups++, bits & 0xFFFF);
        at = end;
        break;
      }
      if (stop == at || stop - at > 4 || groups == GROUPS) {
        return false;
      }
      int value = 0;
      for (int i = at; i < stop; i++) {
        int digit = Character.digit(text[i], 16);
        if (digit < 0) {
          return false;
        }
        value = value << 4 | digit;
      }
      put(halves, groups++, value);
      at = stop + 1;
      if (stop < end && at == end) {
        return false; // a colon at the end
      }
      if (at < end && text[at] == ':') {
        if (gap >= 0) {
          return false;
        }
        gap = groups;
        at++;
      }
    }
    if (gap < 0 ? groups != GROUPS : groups >= GROUPS) {
      return false;
    }
    if (gap >= 0) {
      long[] spread = new long[2];
      for (int g = 0; g < groups; g++) {
        put(spread, g < gap ? g : g + GROUPS - groups, get(halves, g));
      }
      halves = spread;
    }
    high = halves[0];
    low = halves[1];
    return true;
  }

  private static void put(long[] halves, int group, int value) {
    halves[group >> 2] |= (long) value << (48 - 16 * (group & 3));
  }

  private static int get(long[] halves, int group) {
    return (int) (halves[group >> 2] >>> (48 - 16 * (group & 3))) & 0xFFFF;
  }

  /** The address as the service counts it: IPv6 cut to its /64. */
  String text() {
    if (isIpv4()) {
      return (low >>> 24 & 255)
          + "."
          + (low >>> 16 & 255)
          + "."
          + (low >>> 8 & 255)
          + "."
          + (low & 255);
    }
    StringBuilder text = new StringBuilder();
    for (int g = 0; g < GROUPS / 2; g++) {
      text.append(Long.toHexString(high >>> (48 - 16 * g) & 0xFFFF)).append(':');
    }
    return text.append(":/64").toString();
  }

  /** Networks whose addresses are those of trusted proxies. */
  static final class Networks {

    private record Network(long high, long low, int bits) {

      boolean contains(Address address) {
        long first = bits >= 64 ? -1L : bits == 0 ? 0 : -1L << (64 - bits);
        long last = bits <= 64 ? 0 : bits == BITS ? -1L : -1L << (BITS - bits);
        return ((address.high ^ high) & first) == 0 && ((address.low ^ low) & last) == 0;
      }
    }

    private final List<Network> networks = new ArrayList<>();

    /**
     * @throws IllegalArgumentException with the value and the remedy
     */
    Networks(List<String> written) {
      for (String entry : written) {
        int slash = entry.indexOf('/');
        byte[] text = entry.getBytes(StandardCharsets.ISO_8859_1);
        Address address = new Address();
        int end = slash < 0 ? text.length : slash;
        if (!address.read(text, 0, end)) {
          throw new IllegalArgumentException(
              "The trusted proxy '%s' is no address: use an address, or a network such as 10.0.0.0/8"
                  .formatted(entry));
        }
        int most = address.isIpv4() && entry.indexOf(':') < 0 ? 32 : BITS;
        int bits = slash < 0 ? most : bits(entry, slash, most);
        networks.add(new Network(address.high, address.low, BITS - most + bits));
      }
    }

    private static int bits(String entry, int slash, int most) {
      try {
        int bits = Integer.parseInt(entry.substring(slash + 1));
        if (bits >= 0 && bits <= most) {
          return bits;
        }
      } catch (NumberFormatException notANumber) {
        // the same mistake as a number out of range
      }
      throw new IllegalArgumentException(
          "The trusted proxy '%s' has no length of a prefix: use 0 to %s after the slash"
              .formatted(entry, most));
    }

    boolean isEmpty() {
      return networks.isEmpty();
    }

    boolean trust(Address address) {
      for (Network network : networks) {
        if (network.contains(address)) {
          return true;
        }
      }
      return false;
    }
  }
}
