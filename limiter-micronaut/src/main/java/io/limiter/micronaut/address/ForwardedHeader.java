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
    if (name.length() > MAX_NAME || !IpText.isName(name, 0, name.length())) {
      throw new IllegalArgumentException(
          "give it the name of one header, of 1 to %d letters, digits and ._-: X-Forwarded-For, Forwarded, or one that contains only the client's address"
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
    if (lines.size() != 1 || lines.get(0).length() > HopWalk.MAX_CHARACTERS) {
      return null;
    }
    String line = lines.get(0);
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
}
