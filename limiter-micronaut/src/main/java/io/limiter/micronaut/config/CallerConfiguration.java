// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.micronaut.address.ForwardedHeader;
import io.limiter.micronaut.address.TrustedProxies;
import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.Internal;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * Settings of callers: the address that they are counted by, the look-up of their tiers, and which
 * of them are exempt or blocked.
 */
public final class CallerConfiguration {

  private CallerConfiguration() {}

  /** Settings of the address that a request is counted by. */
  @Context // created at the start, so that a mistake stops it
  @ConfigurationProperties(AddressConfiguration.PREFIX)
  public static final class AddressConfiguration {

    /** Prefix of these settings. */
    public static final String PREFIX = LimiterConfiguration.PREFIX + ".address";

    /**
     * Default of {@code limiter.address.ipv6-prefix}: the smallest network that providers assign to
     * a customer.
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
     * Default value none: the TCP peer is counted, and headers are ignored. Addresses, networks
     * such as {@code 10.0.0.0/8} and {@code 2001:db8::/32}, and {@code unix} for all peers on a
     * Unix domain socket; at most 1,024. Blank entries are ignored.
     *
     * @throws ConfigurationException naming the entry that is invalid or too wide
     */
    public void setTrustedProxies(List<String> trustedProxies) {
      this.proxies = networks(PREFIX + ".trusted-proxies", trustedProxies);
    }

    /** The header in which a trusted proxy reports its client's address. */
    @Internal
    public ForwardedHeader header() {
      return header;
    }

    /**
     * Default value {@code X-Forwarded-For}; or {@code Forwarded} (RFC 7239); or the name of
     * another header, such as {@code CF-Connecting-IP}, which contains one address and which the
     * proxy must overwrite.
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

  /** Settings of the look-up of the tier of a caller. */
  @Context // created at the start, so that a mistake stops it
  @ConfigurationProperties(TierLookupConfiguration.PREFIX)
  public static final class TierLookupConfiguration {

    /** Prefix of these settings. */
    public static final String PREFIX = LimiterConfiguration.PREFIX + ".tier-lookup";

    /** Default of {@code limiter.tier-lookup.timeout}. */
    public static final Duration DEFAULT_TIMEOUT = Duration.ofMillis(200);

    /** Default of {@code limiter.tier-lookup.cache-time}. */
    public static final Duration DEFAULT_CACHE_TIME = Duration.ofMinutes(1);

    /** Default of {@code limiter.tier-lookup.cache-size}. */
    public static final int DEFAULT_CACHE_SIZE = 10_000;

    private static final Duration MAX_TIMEOUT = Duration.ofSeconds(10);
    private static final Duration MAX_CACHE_TIME = Duration.ofDays(1);
    private static final int MAX_CACHE_SIZE = 1_000_000;

    private Duration timeout = DEFAULT_TIMEOUT;
    private Duration cacheTime = DEFAULT_CACHE_TIME;
    private int cacheSize = DEFAULT_CACHE_SIZE;

    /** How long a call waits for the tier of its caller. */
    public Duration getTimeout() {
      return timeout;
    }

    /** Default value 200 ms; 1 ms to 10 s. A call that has waited so long has the default tier. */
    public void setTimeout(Duration timeout) {
      requireWithin("timeout", timeout, Duration.ofMillis(1), MAX_TIMEOUT);
      this.timeout = timeout;
    }

    /** How long the tier of a caller is remembered. */
    public Duration getCacheTime() {
      return cacheTime;
    }

    /**
     * Default value 1 min; 0 to 1 day. A change of a caller's tier takes effect after this time.
     */
    public void setCacheTime(Duration cacheTime) {
      requireWithin("cache-time", cacheTime, Duration.ZERO, MAX_CACHE_TIME);
      this.cacheTime = cacheTime;
    }

    /** The number of callers whose tier is remembered. */
    public int getCacheSize() {
      return cacheSize;
    }

    /** Default value 10,000; 0 to 1,000,000. */
    public void setCacheSize(int cacheSize) {
      if (cacheSize < 0 || cacheSize > MAX_CACHE_SIZE) {
        throw new ConfigurationException(
            "%s.cache-size = %d: give it 0 to %d".formatted(PREFIX, cacheSize, MAX_CACHE_SIZE));
      }
      this.cacheSize = cacheSize;
    }

    private static void requireWithin(String name, Duration time, Duration least, Duration most) {
      if (time.compareTo(least) < 0 || time.compareTo(most) > 0) {
        throw new ConfigurationException(
            "%s.%s = %d ms: give it %d ms to %d ms"
                .formatted(PREFIX, name, time.toMillis(), least.toMillis(), most.toMillis()));
      }
    }
  }

  /**
   * Settings of callers that no rule and no ban limits. Duplicate guards apply to them as to all
   * others. A refresh changes them.
   */
  @Context // created at the start, so that a mistake stops it
  @ConfigurationProperties(ExemptConfiguration.PREFIX)
  public static final class ExemptConfiguration {

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
     * Default value none. Addresses and networks of clients, such as {@code 192.0.2.0/24} and
     * {@code 2001:db8::/32}; at most 1,024. The client's address is that by which {@code limitType
     * = IP} counts, so behind a proxy {@code limiter.address.trusted-proxies} must be set.
     *
     * @throws ConfigurationException naming the entry that is invalid or too wide
     */
    public void setAddresses(List<String> addresses) {
      this.addresses = networks(PREFIX + ".addresses", addresses);
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
     * Default value none. SHA-256 digests of tokens as 64 hexadecimal digits; at most 32. A token
     * has 22 characters at least, which is what 128 random bits need: {@code openssl rand -base64
     * 24}. Its digest: {@code printf %s "$TOKEN" | sha256sum}.
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

  /** Settings of callers whose requests are all rejected. A refresh changes them. */
  @Context // created at the start, so that a mistake stops it
  @ConfigurationProperties(BlockConfiguration.PREFIX)
  public static final class BlockConfiguration {

    /** Prefix of these settings. */
    public static final String PREFIX = LimiterConfiguration.PREFIX + ".block";

    /** Default of {@code limiter.block.status}. */
    public static final int DEFAULT_STATUS = 403;

    /** Default of {@code limiter.block.message}. */
    public static final String DEFAULT_MESSAGE = "This caller is blocked";

    private static final int MIN_STATUS = 400;
    private static final int MAX_STATUS = 599;

    private TrustedProxies addresses = TrustedProxies.NONE;
    private Set<String> users = Set.of();
    private int status = DEFAULT_STATUS;
    private String message = DEFAULT_MESSAGE;

    /** Whether no caller is blocked. */
    boolean isEmpty() {
      return addresses.isEmpty() && users.isEmpty();
    }

    /** The networks of blocked clients. */
    @Internal
    public TrustedProxies addresses() {
      return addresses;
    }

    /**
     * Default value none. Addresses and networks of clients, such as {@code 203.0.113.7} and {@code
     * 2001:db8::/32}; at most 1,024. All their requests are rejected before any other filter, those
     * for unknown paths and static files as well.
     *
     * @throws ConfigurationException naming the entry that is invalid or too wide
     */
    public void setAddresses(List<String> addresses) {
      this.addresses = networks(PREFIX + ".addresses", addresses);
    }

    /** The names of blocked users. */
    @Internal
    public Set<String> users() {
      return users;
    }

    /** Default value none. Names of principals, whose requests are rejected behind security. */
    public void setUsers(Set<String> users) {
      this.users = Set.copyOf(users);
    }

    /** The status of the response to a blocked caller. */
    public int getStatus() {
      return status;
    }

    /** Default value 403; 400 to 599. */
    public void setStatus(int status) {
      if (status < MIN_STATUS || status > MAX_STATUS) {
        throw new ConfigurationException(
            "%s.status = %d: give it %d to %d".formatted(PREFIX, status, MIN_STATUS, MAX_STATUS));
      }
      this.status = status;
    }

    /** The message of the response to a blocked caller. */
    public String getMessage() {
      return message;
    }

    /** Default value {@code This caller is blocked}. */
    public void setMessage(String message) {
      this.message = message;
    }
  }

  private static TrustedProxies networks(String property, List<String> written) {
    try {
      return TrustedProxies.of(
          written.stream()
              .filter(Objects::nonNull)
              .map(String::trim)
              .filter(entry -> !entry.isEmpty())
              .toList());
    } catch (IllegalArgumentException mistake) {
      throw new ConfigurationException(
          "%s = %s".formatted(property, mistake.getMessage()), mistake);
    }
  }
}
