// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.address;

import io.micronaut.core.annotation.Internal;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The one header in which proxies report the client of a request. Other headers are ignored: a
 * proxy that writes one of them forwards the others unchanged, and a client may have forged those.
 */
@Internal
public final class ForwardedHeader {

  /** The header that most proxies write. */
  public static final String FORWARDED_FOR = "X-Forwarded-For";

  /** The header of RFC 7239. */
  public static final String FORWARDED = "Forwarded";

  /** Longest name of a header. */
  public static final int MAX_NAME = 64;

  private final String name;

  /** Null if the header contains a single address instead of a list. */
  private final @Nullable HopSyntax syntax;

  private ForwardedHeader(String name, @Nullable HopSyntax syntax) {
    this.name = name;
    this.syntax = syntax;
  }

  /**
   * {@code X-Forwarded-For}, {@code Forwarded}, or another header that contains one address: that
   * of the client.
   *
   * @throws IllegalArgumentException with the remedy, if no header has such a name
   */
  public static ForwardedHeader named(String name) {
    if (name.length() > MAX_NAME || !IpAddress.isName(name, 0, name.length())) {
      throw new IllegalArgumentException(
          "set it to the name of one header, of 1 to %s letters, digits and ._-: X-Forwarded-For, Forwarded, or one that contains only the client's address"
              .formatted(MAX_NAME));
    }
    return new ForwardedHeader(
        name,
        switch (name.toLowerCase(Locale.ROOT)) {
          case "x-forwarded-for" -> new ForwardedForSyntax();
          case "forwarded" -> new ForwardedSyntax();
          default -> null;
        });
  }

  /** The header's name, as configured. */
  public String name() {
    return name;
  }

  /**
   * The address of the client whose request a trusted proxy forwards.
   *
   * @param lines the lines of this header, in the order of the request
   * @param proxies the trusted proxies
   * @return null if the header contains no readable address
   */
  public @Nullable IpAddress client(List<String> lines, TrustedProxies proxies) {
    if (syntax != null) {
      return HopWalk.client(syntax, lines, proxies);
    }
    // If there are two lines, either may come from the client.
    return lines.size() == 1 ? single(lines.get(0)) : null;
  }

  /**
   * The one address in a line, also with a port, in brackets or in quotes; null if it is anything
   * else.
   */
  public static @Nullable IpAddress single(String line) {
    if (line.length() > HopWalk.MAX_CHARACTERS) {
      return null;
    }
    int begin = HopSyntax.skipBlanks(line, 0, line.length());
    return ForwardedSyntax.ForwardedNode.readQuoted(
        line, begin, HopSyntax.dropBlanks(line, begin, line.length()));
  }

  /** {@code X-Forwarded-For: client, proxy, proxy}. */
  static final class ForwardedForSyntax implements HopSyntax {

    @Override
    public int start(String line, int floor, int end) {
      int start = end;
      while (start > floor && line.charAt(start - 1) != ',') {
        start--;
      }
      return start;
    }

    @Override
    public @Nullable IpAddress read(String line, int from, int to) {
      int begin = HopSyntax.skipBlanks(line, from, to);
      return ForwardedSyntax.ForwardedNode.readQuoted(
          line, begin, HopSyntax.dropBlanks(line, begin, to));
    }
  }

  /**
   * Walks from the proxy that is the peer towards the client, from the right of a header to its
   * left: each hop appends the address of its own peer. An element is trusted only if all hops to
   * its right, which forwarded it, are trusted. The first hop that is not trusted is the client; if
   * all are trusted, it is the leftmost one. An element that is not an address ends the walk at the
   * hop to its right: its sender is unknown and may have forged everything further left.
   */
  static final class HopWalk {

    /** Maximum number of elements that are read. */
    static final int MAX_HOPS = 32;

    /** Maximum number of characters that are read, from the right. */
    static final int MAX_CHARACTERS = 4_096;

    private HopWalk() {}

    /** Returns null if the rightmost element is not an address. */
    static @Nullable IpAddress client(
        HopSyntax syntax, List<String> lines, TrustedProxies proxies) {
      IpAddress client = null;
      int characters = MAX_CHARACTERS;
      int hops = MAX_HOPS;
      for (int i = lines.size() - 1; i >= 0; i--) {
        String line = lines.get(i);
        for (int end = line.length(); end >= 0; hops--) {
          if (hops == 0) {
            return client;
          }
          int start = syntax.start(line, Math.max(0, end - characters - 1), end);
          boolean cutOff = end - start > characters;
          IpAddress hop = cutOff ? null : syntax.read(line, start, end);
          if (hop == null) {
            return client;
          }
          client = hop;
          if (!proxies.trust(hop)) {
            return client;
          }
          characters -= end - start + 1;
          end = start - 1; // before the comma; -1 at the beginning of the line
        }
      }
      return client;
    }
  }

  /**
   * The syntax in which a header lists the hops of a request. It is read from the right, so that
   * text to the left of an element, which a client may have written, does not change how the
   * element is read.
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

  /**
   * {@code Forwarded: for=client;proto=https, for="[2001:db8::1]:4711"} (RFC 7239).
   *
   * <p>An unquoted value may contain every character that does not end it: proxies write {@code
   * for=192.0.2.1:4711}, although its colon should be in quotes.
   */
  static final class ForwardedSyntax implements ForwardedHeader.HopSyntax {

    /**
     * Commas in quotes do not end an element. Read from the right, the opening quote is the first
     * one without a backslash before it: quotes inside the text have one, and the opening quote
     * follows an equals sign.
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
          int equals = IpAddress.find(line, '=', begin, last);
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
          int close = IpAddress.find(text, ']', from, to);
          boolean ipv6 = close > 0 && IpAddress.find(text, ':', from, close) > 0;
          return ipv6 && (close + 1 == to || isPort(text, close + 1, to))
              ? IpAddress.read(text, from + 1, close)
              : null;
        }
        int colon = IpAddress.find(text, ':', from, to);
        boolean one = colon >= 0 && IpAddress.find(text, ':', colon + 1, to) < 0;
        if (!one) {
          return IpAddress.read(text, from, to);
        }
        return isPort(text, colon, to) ? IpAddress.read(text, from, colon) : null;
      }

      /**
       * Like {@link #read}, but the text may be in quotes. Text that needs an escape is not an
       * address.
       */
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
          return IpAddress.isName(text, from + 1, to);
        }
        int port = 0;
        for (int at = from; at < to; at++) {
          if (at - from == 5 || !IpAddress.isDigit(text.charAt(at))) {
            return false;
          }
          port = port * 10 + text.charAt(at) - '0';
        }
        return port <= MAX_PORT;
      }
    }
  }
}
