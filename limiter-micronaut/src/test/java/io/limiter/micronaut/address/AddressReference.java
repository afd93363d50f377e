// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.address;

import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What {@link ForwardedHeader} is to find, written a second time to be looked through and not to be
 * fast: texts are split by regular expressions, and literals read by the JDK and written by Netty.
 */
final class AddressReference {

  private static final String OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
  private static final String IPV4 = OCTET + "(?:\\." + OCTET + "){3}";
  private static final Pattern IPV4_ONLY = Pattern.compile(IPV4);
  private static final Pattern IPV6_LETTERS =
      Pattern.compile("(?=.*:)[0-9a-fA-F:]+(?:(?<=:)" + IPV4 + ")?");
  private static final Pattern ZONE = Pattern.compile("(.*:.*?)%[A-Za-z0-9._-]+");
  private static final Pattern PORT =
      Pattern.compile("(\\[.*:.*]|(?!\\[)[^:]*)(?::(?:_[A-Za-z0-9._-]+|([0-9]{1,5})))?");
  private static final Pattern QUOTED = Pattern.compile("\"(.*)\"");

  /** From the right: text in quotes, where the quote that opens has no backslash. */
  private static final Pattern REVERSED_ELEMENT =
      Pattern.compile("(?:\"(?:[^\"]|\"(?=\\\\))*+(?:\"|$)|[^\",])*");

  private static final Pattern PARAMETER =
      Pattern.compile("(?:\"(?:\\\\.|[^\"\\\\])*+(?:\"|\\\\?$)|[^\";])*");
  private static final Pattern PAIR =
      Pattern.compile("([^=]*)=(\"(?:\\\\.|[^\"\\\\])*\"|[^\" \t]+)");

  private AddressReference() {}

  /** The client that the header reports, as it is counted; empty if there is none. */
  static Optional<String> client(String header, List<String> lines, List<String> networks) {
    if (!header.equals("X-Forwarded-For") && !header.equals("Forwarded")) {
      return lines.size() == 1
          ? node(unquoted(trimmed(lines.get(0)))).map(Found::text)
          : Optional.empty();
    }
    boolean pairs = header.equals("Forwarded");
    List<String> fromTheRight = new ArrayList<>();
    for (int i = lines.size() - 1; i >= 0; i--) {
      fromTheRight.addAll(pairs ? elements(lines.get(i)) : split(lines.get(i)));
    }
    Optional<String> client = Optional.empty();
    for (String element : fromTheRight.subList(0, Math.min(32, fromTheRight.size()))) {
      Optional<Found> hop = pairs ? pair(element) : node(unquoted(trimmed(element)));
      if (hop.isEmpty()) {
        return client;
      }
      client = hop.map(Found::text);
      if (networks.stream().noneMatch(network -> hop.get().isIn(network))) {
        return client;
      }
    }
    return client;
  }

  /** The address of a literal, if it is one. */
  static Optional<Found> literal(String text) {
    Matcher zone = ZONE.matcher(text);
    String literal = zone.matches() ? zone.group(1) : text;
    if (!IPV4_ONLY.matcher(literal).matches()
        && !(IPV6_LETTERS.matcher(literal).matches() && hasEightGroups(literal))) {
      return Optional.empty();
    }
    try {
      return Optional.of(new Found(InetAddress.getByName(literal).getAddress()));
    } catch (UnknownHostException unknown) {
      throw new AssertionError(literal + " is a literal, but not for the JDK", unknown);
    }
  }

  private static boolean hasEightGroups(String literal) {
    String text = literal.replaceFirst("[^:]+\\..*", "0:0");
    String[] halves = text.split("::", -1);
    List<String> groups =
        Stream.of(halves)
            .filter(half -> !half.isEmpty())
            .flatMap(half -> Stream.of(half.split(":", -1)))
            .toList();
    return groups.stream().allMatch(group -> group.matches("[0-9a-fA-F]{1,4}"))
        && (halves.length == 1 ? groups.size() == 8 : halves.length == 2 && groups.size() <= 7);
  }

  private static Optional<Found> node(String text) {
    if (text.indexOf(':') != text.lastIndexOf(':') && !text.startsWith("[")) {
      return literal(text);
    }
    Matcher node = PORT.matcher(text);
    if (!node.matches() || (node.group(2) != null && Integer.parseInt(node.group(2)) > 65_535)) {
      return Optional.empty();
    }
    String host = node.group(1);
    return literal(host.startsWith("[") ? host.substring(1, host.length() - 1) : host);
  }

  private static Optional<Found> pair(String element) {
    List<String> named = new ArrayList<>();
    for (Matcher parts = PARAMETER.matcher(element); parts.find(); ) {
      String part = trimmed(parts.group());
      Matcher pair = PAIR.matcher(part);
      if (!part.isEmpty() && !pair.matches()) {
        return Optional.empty();
      }
      if (!part.isEmpty() && pair.group(1).equalsIgnoreCase("for")) {
        named.add(pair.group(2));
      }
    }
    return named.size() == 1 ? node(unquoted(named.get(0))) : Optional.empty();
  }

  private static List<String> split(String line) {
    List<String> elements = new ArrayList<>(List.of(line.split(",", -1)));
    Collections.reverse(elements);
    return elements;
  }

  private static List<String> elements(String line) {
    String reversed = new StringBuilder(line).reverse().toString();
    List<String> elements = new ArrayList<>();
    int at = 0;
    Matcher element = REVERSED_ELEMENT.matcher(reversed);
    while (at <= reversed.length() && element.find(at)) {
      elements.add(new StringBuilder(element.group()).reverse().toString());
      at = element.end() + 1;
    }
    return elements;
  }

  private static String unquoted(String text) {
    Matcher quoted = QUOTED.matcher(text);
    return quoted.matches() ? quoted.group(1) : text;
  }

  private static String trimmed(String text) {
    return text.replaceAll("^[ \t]+|[ \t]+$", "");
  }

  /** An address as the JDK has read it: 4 bytes or 16. */
  record Found(byte[] bytes) {

    String text() {
      byte[] nat64 = {0, 0x64, (byte) 0xff, (byte) 0x9b, 0, 0, 0, 0, 0, 0, 0, 0};
      if (bytes.length == 16 && Arrays.equals(bytes, 0, 12, nat64, 0, 12)) {
        return new Found(Arrays.copyOfRange(bytes, 12, 16)).text();
      }
      return bytes.length == 16
          ? ofIpv6() + "/128"
          : Stream.of(0, 1, 2, 3)
              .map(i -> Integer.toString(bytes[i] & 0xff))
              .collect(Collectors.joining("."));
    }

    private String ofIpv6() {
      try {
        return NetUtil.toAddressString(InetAddress.getByAddress(bytes));
      } catch (UnknownHostException impossible) {
        throw new AssertionError(impossible);
      }
    }

    /** Networks whose prefixes end between bytes. */
    boolean isIn(String network) {
      String[] parts = network.split("/");
      byte[] first = literal(parts[0]).orElseThrow().bytes;
      int length = Integer.parseInt(parts[1]) / 8;
      return first.length == bytes.length && Arrays.equals(first, 0, length, bytes, 0, length);
    }
  }
}
