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
          "give it the name of one header, of 1 to %d letters, digits and ._-: X-Forwarded-For, "
              + "Forwarded, or one that contains only the client's address".formatted(MAX_NAME));
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
    return ForwardedNode.readQuoted(line, begin, HopSyntax.dropBlanks(line, begin, line.length()));
  }
}
