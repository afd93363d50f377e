// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.micronaut.address.ForwardedHeader;
import io.limiter.micronaut.address.TrustedProxies;
import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.Internal;
import java.util.List;
import java.util.Objects;

/** Settings of the address that a request is counted by. */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(AddressConfiguration.PREFIX)
public final class AddressConfiguration {

  /** Prefix of these settings. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".address";

  /**
   * Default of {@code limiter.address.ipv6-prefix}: the smallest network that providers assign to a
   * customer.
   */
  public static final int DEFAULT_IPV6_PREFIX = 64;

  private static final int MIN_IPV6_PREFIX = 32;
  private static final int MAX_IPV6_PREFIX = 128;

  private TrustedProxies proxies = TrustedProxies.NONE;
  private ForwardedHeader header = ForwardedHeader.named(ForwardedHeader.FORWARDED_FOR);
  private int ipv6Prefix = DEFAULT_IPV6_PREFIX;

  /** The proxies whose forwarded headers are trusted. */
  @Internal
  public TrustedProxies proxies() {
    return proxies;
  }

  /**
   * Default value none: the TCP peer is counted, and headers are ignored. Addresses, networks such
   * as {@code 10.0.0.0/8} and {@code 2001:db8::/32}, and {@code unix} for all peers on a Unix
   * domain socket; at most 1,024. Blank entries are ignored.
   *
   * @throws ConfigurationException naming the entry that is invalid or too wide
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

  /** The header in which a trusted proxy reports its client's address. */
  @Internal
  public ForwardedHeader header() {
    return header;
  }

  /**
   * Default value {@code X-Forwarded-For}; or {@code Forwarded} (RFC 7239); or the name of another
   * header, such as {@code CF-Connecting-IP}, which contains one address and which the proxy must
   * overwrite.
   */
  public void setHeader(String header) {
    try {
      this.header = ForwardedHeader.named(header.trim());
    } catch (IllegalArgumentException mistake) {
      throw new ConfigurationException(
          "%s.header = %s: %s".formatted(PREFIX, header, mistake.getMessage()), mistake);
    }
  }

  /** The length of the IPv6 prefix that is counted as one subject. */
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
