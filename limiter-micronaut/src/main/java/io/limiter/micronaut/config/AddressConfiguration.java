// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.micronaut.address.ForwardedHeader;
import io.limiter.micronaut.address.TrustedProxies;
import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import java.util.List;
import java.util.Objects;

/** Which address a request is counted by. */
@Context // a mistake stops the start
@ConfigurationProperties(AddressConfiguration.PREFIX)
public final class AddressConfiguration {

  /** All settings stand under this. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".address";

  /** Default of {@code limiter.address.ipv6-prefix}: what one customer is given at least. */
  public static final int DEFAULT_IPV6_PREFIX = 64;

  private static final int MIN_IPV6_PREFIX = 32;
  private static final int MAX_IPV6_PREFIX = 128;

  private TrustedProxies proxies = TrustedProxies.NONE;
  private ForwardedHeader header = ForwardedHeader.named(ForwardedHeader.FORWARDED_FOR);
  private int ipv6Prefix = DEFAULT_IPV6_PREFIX;

  /** Whose word on their client's address is believed. */
  public TrustedProxies proxies() {
    return proxies;
  }

  /**
   * Default value none: the TCP peer is counted, and no header is looked at. Addresses, networks
   * such as {@code 10.0.0.0/8} and {@code 2001:db8::/32}, and {@code unix} for whoever comes over a
   * Unix domain socket; at most 1,024. Blank ones are left out.
   *
   * @throws ConfigurationException naming the entry that is no such, or trusts everybody
   */
  public void setTrustedProxies(List<String> trustedProxies) {
    List<String> written =
        trustedProxies.stream()
            .filter(Objects::nonNull)
            .map(String::trim)
            .filter(entry -> !entry.isEmpty())
            .toList();
    try {
      proxies = TrustedProxies.of(written);
    } catch (IllegalArgumentException mistake) {
      throw new ConfigurationException(
          "%s.trusted-proxies = %s".formatted(PREFIX, mistake.getMessage()), mistake);
    }
  }

  /** The header in which a trusted proxy tells its client's address. */
  public ForwardedHeader header() {
    return header;
  }

  /**
   * Default value {@code X-Forwarded-For}; or {@code Forwarded} (RFC 7239); or the name of another,
   * such as {@code CF-Connecting-IP}, which the proxy has to overwrite, and which tells one
   * address.
   */
  public void setHeader(String header) {
    try {
      this.header = ForwardedHeader.named(header.trim());
    } catch (IllegalArgumentException mistake) {
      throw new ConfigurationException(
          "%s.header = %s: %s".formatted(PREFIX, header, mistake.getMessage()), mistake);
    }
  }

  /** The first bits of an IPv6 address, which are counted as one caller. */
  public int getIpv6Prefix() {
    return ipv6Prefix;
  }

  /** Default value 64; 32 to 128. */
  public void setIpv6Prefix(int ipv6Prefix) {
    if (ipv6Prefix < MIN_IPV6_PREFIX || ipv6Prefix > MAX_IPV6_PREFIX) {
      throw new ConfigurationException(
          "%s.ipv6-prefix = %d: give it %d to %d"
              .formatted(PREFIX, ipv6Prefix, MIN_IPV6_PREFIX, MAX_IPV6_PREFIX));
    }
    this.ipv6Prefix = ipv6Prefix;
  }
}
