// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.address;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** Makes headers as proxies and attackers write them: good elements, spoilt ones, and rubbish. */
final class HeaderGenerator {

  static final List<String> NETWORKS = List.of("10.0.0.0/8", "192.168.0.0/16", "fd00::/8");

  private static final String ALPHABET =
      "0123456789abcdefABCDEF..::::[]\"\"\\\\,;;==%_/ \tforx-\u00e9\u0663\uff11\0";
  private static final List<String> RUBBISH =
      List.of(
          "",
          "unknown",
          "_hidden",
          "localhost",
          "for=",
          "\"",
          "\\",
          "[::1",
          "::ffff:1.2.3",
          "1.2.3.4:99999");

  private final SplittableRandom random;

  HeaderGenerator(long seed) {
    random = new SplittableRandom(seed);
  }

  String header() {
    return pick(
        List.of("X-Forwarded-For", "Forwarded", "X-Forwarded-For", "Forwarded", "X-Real-IP"));
  }

  /** One to three lines; half of them have nothing wrong. */
  List<String> lines(String header) {
    List<String> lines = new ArrayList<>();
    for (int count = chance(4) ? 1 + random.nextInt(3) : 1; count > 0; count--) {
      lines.add(line(header));
    }
    return lines;
  }

  /** What somebody could send who knows how it is read. */
  String line(String header) {
    StringBuilder line = new StringBuilder();
    int elements = header.equals("X-Real-IP") && !chance(4) ? 1 : 1 + random.nextInt(5);
    for (int i = 0; i < elements; i++) {
      line.append(i == 0 ? "" : chance(2) ? ", " : ",")
          .append(chance(8) ? pick(RUBBISH) : element(header, address()));
    }
    for (int spoilt = chance(2) ? 1 + random.nextInt(3) : 0; spoilt > 0; spoilt--) {
      spoil(line);
    }
    return line.toString();
  }

  /** A well-formed element for this address. */
  String element(String header, String address) {
    boolean ipv6 = address.indexOf(':') >= 0;
    if (!header.equals("Forwarded")) {
      return node(address, ipv6 && chance(2));
    }
    String node = node(address, ipv6);
    String pair =
        (chance(2) ? "for=" : "For=") + (ipv6 && !node.startsWith("\"") ? '"' + node + '"' : node);
    return switch (random.nextInt(5)) {
      case 0 -> pair + ";proto=https";
      case 1 -> "by=10.0.0.1;" + pair;
      case 2 -> pair + ";host=\"a, \\\"for=6.6.6.6;\\\\\"";
      default -> pair;
    };
  }

  private String node(String address, boolean brackets) {
    boolean ipv4 = address.indexOf(':') < 0;
    String node = brackets ? '[' + address + ']' : address;
    if ((ipv4 || brackets) && chance(3)) {
      node += ":" + (chance(4) ? "_p" : Integer.toString(random.nextInt(65_536)));
    }
    return chance(3) ? '"' + node + '"' : node;
  }

  /** Half of them one of a trusted network, in any spelling. */
  String address() {
    return switch (random.nextInt(8)) {
      case 0, 1 -> "10.0." + random.nextInt(256) + '.' + random.nextInt(256);
      case 2 -> "::ffff:192.168.1." + random.nextInt(256);
      case 3 -> "fd00::" + Integer.toHexString(random.nextInt(0x10000));
      case 4 -> groups();
      case 5 -> stranger() + (chance(2) ? "" : "%eth0");
      default -> random.nextInt(256) + "." + random.nextInt(256) + ".0." + random.nextInt(256);
    };
  }

  /** One of IPv6 that is in no trusted network. */
  String stranger() {
    return "2001:db8:"
        + Integer.toHexString(random.nextInt(0x10000))
        + "::"
        + (chance(2) ? "1.2.3.4" : "7");
  }

  private String groups() {
    StringBuilder text = new StringBuilder();
    int gap = random.nextInt(9);
    for (int i = 0; i < 8; i++) {
      text.append(i == 0 ? "" : ":")
          .append(i == gap ? "" : Integer.toHexString(random.nextInt(0x10000)));
    }
    return gap == 0 ? ":" + text : gap == 7 ? text + ":" : text.toString();
  }

  private void spoil(StringBuilder line) {
    int at = random.nextInt(line.length() + 1);
    char c = ALPHABET.charAt(random.nextInt(ALPHABET.length()));
    if (at == line.length() || chance(3)) {
      line.insert(at, c);
    } else if (chance(2)) {
      line.deleteCharAt(at);
    } else {
      line.setCharAt(at, c);
    }
  }

  /** One in so many. */
  boolean chance(int of) {
    return random.nextInt(of) == 0;
  }

  private <T> T pick(List<T> all) {
    return all.get(random.nextInt(all.size()));
  }
}
