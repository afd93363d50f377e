// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.micronaut.address.TrustedProxies;
import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.Internal;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;

/**
 * Settings of callers that no rule and no ban limits. Duplicate guards apply to them as to all
 * others. A refresh changes them.
 */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(ExemptConfiguration.PREFIX)
public final class ExemptConfiguration {

  /** Prefix of these settings. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".exempt";

  /** Default of {@code limiter.exempt.header}. */
  public static final String DEFAULT_HEADER = "X-RateLimit-Exempt";

  private static final int MAX_TOKENS = 32;
  private static final int DIGEST_DIGITS = 64;

  private TrustedProxies addresses = TrustedProxies.NONE;
  private Set<String> users = Set.of();
  private String header = DEFAULT_HEADER;
  private List<byte[]> tokens = List.of();

  /** Whether no caller is exempt. */
  boolean isEmpty() {
    return addresses.isEmpty() && users.isEmpty() && tokens.isEmpty();
  }

  /** The networks of exempt clients. */
  @Internal
  public TrustedProxies addresses() {
    return addresses;
  }

  /**
   * Default value none. Addresses and networks of clients, such as {@code 192.0.2.0/24} and {@code
   * 2001:db8::/32}; at most 1,024. The client's address is that by which {@code limitType = IP}
   * counts, so behind a proxy {@code limiter.address.trusted-proxies} must be set.
   *
   * @throws ConfigurationException naming the entry that is invalid or too wide
   */
  public void setAddresses(List<String> addresses) {
    this.addresses = BlockConfiguration.networks(PREFIX + ".addresses", addresses);
  }

  /** The names of exempt users. */
  @Internal
  public Set<String> users() {
    return users;
  }

  /**
   * Default value none. Names of principals. They are known behind security only, so not to
   * policies that are decided before it.
   */
  public void setUsers(Set<String> users) {
    this.users = Set.copyOf(users);
  }

  /** The header with the token of an exempt caller. */
  @Internal
  public String header() {
    return header;
  }

  /** Default value {@code X-RateLimit-Exempt}: the header with the token of an exempt caller. */
  public void setHeader(String header) {
    if (!header.matches("[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")) {
      throw new ConfigurationException(
          "%s.header = %s: no header can have this name: write one such as %s"
              .formatted(PREFIX, header, DEFAULT_HEADER));
    }
    this.header = header;
  }

  /** The SHA-256 digests of the tokens. */
  @Internal
  public List<byte[]> tokens() {
    return tokens;
  }

  /**
   * Default value none. SHA-256 digests of tokens as 64 hexadecimal digits; at most 32. A token has
   * 22 characters at least, which is what 128 random bits need: {@code openssl rand -base64 24}.
   * Its digest: {@code printf %s "$TOKEN" | sha256sum}.
   *
   * @throws ConfigurationException if one is no digest; it does not quote the value, which may be
   *     the token itself
   */
  public void setTokens(List<String> tokens) {
    if (tokens.size() > MAX_TOKENS) {
      throw new ConfigurationException(
          "%s.tokens: %d entries: give at most %d".formatted(PREFIX, tokens.size(), MAX_TOKENS));
    }
    this.tokens =
        tokens.stream()
            .map(String::strip)
            .map(
                digest -> {
                  if (digest.length() != DIGEST_DIGITS
                      || !digest.chars().allMatch(HexFormat::isHexDigit)) {
                    throw new ConfigurationException(
                        "%s.tokens: an entry is no SHA-256 digest: give it the 64 hexadecimal digits of: printf %%s \"$TOKEN\" | sha256sum"
                            .formatted(PREFIX));
                  }
                  return HexFormat.of().parseHex(digest);
                })
            .toList();
  }
}
