// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.micronaut.address.ForwardedHeader;
import io.limiter.micronaut.address.TrustedProxies;
import io.micronaut.context.annotation.ConfigurationInject;
import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.bind.annotation.Bindable;
import io.micronaut.core.type.Argument;
import io.micronaut.core.value.PropertyResolver;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Settings of callers: the address that they are counted by, the look-up of their tiers, and which
 * of them are exempt or blocked.
 */
public final class CallerConfiguration {

  private CallerConfiguration() {}

  /**
   * Settings of the address that a request is counted by.
   *
   * @param proxies the proxies whose forwarded headers are trusted
   * @param header the header in which a trusted proxy reports its client's address
   * @param ipv6Prefix the length of the IPv6 prefix that is counted as one subject
   */
  @Context // created at the start, so that a mistake stops it
  @ConfigurationProperties(AddressConfiguration.PREFIX)
  public record AddressConfiguration(
      @Internal TrustedProxies proxies, @Internal ForwardedHeader header, int ipv6Prefix) {

    /** Prefix of these settings. */
    public static final String PREFIX = LimiterConfiguration.PREFIX + ".address";

    @Internal
    public AddressConfiguration {
      Bounds.require(PREFIX + ".ipv6-prefix", ipv6Prefix, 32, 128);
    }

    /**
     * @param trustedProxies The proxies whose forwarded headers are trusted. Default value none:
     *     the TCP peer is counted, and headers are ignored. Addresses, networks such as {@code
     *     10.0.0.0/8} and {@code 2001:db8::/32}, and {@code unix} for all peers on a Unix domain
     *     socket; at most 1,024. Blank entries are ignored.
     * @param header The header in which a trusted proxy reports its client's address. Default value
     *     {@code X-Forwarded-For}; or {@code Forwarded} (RFC 7239); or the name of another header,
     *     such as {@code CF-Connecting-IP}, which contains one address and which the proxy must
     *     overwrite.
     * @param ipv6Prefix The length of the IPv6 prefix that is counted as one subject. Default value
     *     64, the smallest network that providers assign to a customer; 32 to 128.
     * @throws ConfigurationException naming the property, its value and the remedy
     */
    @ConfigurationInject
    public AddressConfiguration(
        @Nullable List<String> trustedProxies,
        @Bindable(defaultValue = ForwardedHeader.FORWARDED_FOR) String header,
        @Bindable(defaultValue = "64") int ipv6Prefix) {
      this(networks(PREFIX + ".trusted-proxies", trustedProxies), named(header), ipv6Prefix);
    }

    private static ForwardedHeader named(String header) {
      return Bounds.accepted(
          "%s.header = %s".formatted(PREFIX, header), () -> ForwardedHeader.named(header.trim()));
    }
  }

  private static final String HEADER_NAME = "[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}";

  /**
   * Settings of the look-up of the tier of a caller.
   *
   * @param headers the headers whose values name the caller
   * @param timeout how long a call waits for the tier of its caller
   * @param cacheTime how long the tier of a caller is remembered
   * @param cacheSize the number of callers whose tier is remembered
   */
  @Context // created at the start, so that a mistake stops it
  @ConfigurationProperties(TierLookupConfiguration.PREFIX)
  public record TierLookupConfiguration(
      List<String> headers, Duration timeout, Duration cacheTime, int cacheSize) {

    /** Prefix of these settings. */
    public static final String PREFIX = LimiterConfiguration.PREFIX + ".tier-lookup";

    @Internal
    public TierLookupConfiguration {
      Bounds.require(PREFIX + ".timeout", timeout, Duration.ofMillis(1), Duration.ofSeconds(10));
      Bounds.require(PREFIX + ".cache-time", cacheTime, Duration.ZERO, Duration.ofDays(1));
      Bounds.require(PREFIX + ".cache-size", cacheSize, 0, 1_000_000);
      headers.forEach(
          header ->
              Bounds.require(
                  PREFIX + ".headers",
                  header,
                  header.matches(HEADER_NAME),
                  "the names of headers, such as X-Api-Key"));
    }

    /**
     * @param timeout How long a call waits for the tier of its caller. Default value 200 ms; 1 ms
     *     to 10 s. A call that has waited so long has the default tier.
     * @param cacheTime How long the tier of a caller is remembered. Default value 1 min; 0 to 1
     *     day. A change of a caller's tier takes effect after this time.
     * @param cacheSize The number of callers whose tier is remembered. Default value 10,000; 0 to
     *     1,000,000.
     * @param headers The headers whose values name the caller, such as {@code X-Api-Key}, in place
     *     of the caller of the {@code Tiers} bean. Default value none. A request without one of
     *     them has the default tier. Their values must be verified before, as by a gateway: others
     *     could choose them.
     * @throws ConfigurationException naming the property, its value and the remedy
     */
    @ConfigurationInject
    TierLookupConfiguration(
        @Bindable(defaultValue = "200ms") Duration timeout,
        @Bindable(defaultValue = "1m") Duration cacheTime,
        @Bindable(defaultValue = "10000") int cacheSize,
        @Nullable List<String> headers) {
      this(
          headers == null
              ? List.of()
              : headers.stream().map(String::strip).filter(name -> !name.isEmpty()).toList(),
          timeout,
          cacheTime,
          cacheSize);
    }
  }

  /**
   * Settings of callers that no rule and no ban limits. Duplicate guards apply to them as to all
   * others. A refresh changes them.
   *
   * @param addresses the networks of exempt clients
   * @param users the names of exempt users
   * @param header the header with the token of an exempt caller
   * @param tokens the SHA-256 digests of the tokens
   */
  @ConfigurationProperties(ExemptConfiguration.PREFIX)
  public record ExemptConfiguration(
      @Internal TrustedProxies addresses,
      @Internal Set<String> users,
      @Internal String header,
      @Internal List<byte[]> tokens) {

    /** Prefix of these settings. */
    public static final String PREFIX = LimiterConfiguration.PREFIX + ".exempt";

    private static final String DEFAULT_HEADER = "X-RateLimit-Exempt";

    private static final int MAX_TOKENS = 32;
    private static final int DIGEST_DIGITS = 64;

    @Internal
    public ExemptConfiguration {
      users = Set.copyOf(users);
      Bounds.require(
          PREFIX + ".header",
          header,
          header.matches(HEADER_NAME),
          "the name of a header, such as " + DEFAULT_HEADER);
    }

    /**
     * @param addresses Default value none. Addresses and networks of clients, such as {@code
     *     192.0.2.0/24} and {@code 2001:db8::/32}; at most 1,024. The client's address is that by
     *     which {@code limitType = IP} counts, so behind a proxy {@code
     *     limiter.address.trusted-proxies} must be set.
     * @param users Default value none. Names of principals. They are known only after security, so
     *     policies that are decided before it ignore them.
     * @param header The header with the token of an exempt caller. Default value {@code
     *     X-RateLimit-Exempt}.
     * @param tokens Default value none. SHA-256 digests of tokens as 64 hexadecimal digits; at most
     *     32. A token has 22 characters at least, which is what 128 random bits need: {@code
     *     openssl rand -base64 24}. Its digest: {@code printf %s "$TOKEN" | sha256sum}.
     * @throws ConfigurationException naming the property and the remedy; it quotes no token
     */
    @ConfigurationInject
    ExemptConfiguration(
        @Nullable List<String> addresses,
        @Nullable Set<String> users,
        @Bindable(defaultValue = DEFAULT_HEADER) String header,
        @Nullable List<String> tokens) {
      this(
          networks(PREFIX + ".addresses", addresses),
          users == null ? Set.of() : users,
          header,
          digests(tokens == null ? List.of() : tokens));
    }

    /** The settings that this resolver has now: the bean has those of the start. */
    static ExemptConfiguration of(PropertyResolver settings) {
      return new ExemptConfiguration(
          settings.getProperty(PREFIX + ".addresses", Argument.listOf(String.class)).orElse(null),
          settings.getProperty(PREFIX + ".users", Argument.setOf(String.class)).orElse(null),
          settings.getProperty(PREFIX + ".header", String.class, DEFAULT_HEADER),
          settings.getProperty(PREFIX + ".tokens", Argument.listOf(String.class)).orElse(null));
    }

    /** Whether no caller is exempt. */
    boolean isEmpty() {
      return addresses.isEmpty() && users.isEmpty() && tokens.isEmpty();
    }

    private static List<byte[]> digests(List<String> tokens) {
      if (tokens.size() > MAX_TOKENS) {
        throw new ConfigurationException(
            "%s.tokens: %s entries: specify at most %s"
                .formatted(PREFIX, tokens.size(), MAX_TOKENS));
      }
      return tokens.stream().map(String::strip).map(ExemptConfiguration::digest).toList();
    }

    private static byte[] digest(String token) {
      if (token.length() != DIGEST_DIGITS || !token.chars().allMatch(HexFormat::isHexDigit)) {
        throw new ConfigurationException(
            "%s.tokens: an entry is not a SHA-256 digest: use the 64 hexadecimal digits of: printf %%s \"$TOKEN\" | sha256sum"
                .formatted(PREFIX));
      }
      return HexFormat.of().parseHex(token);
    }
  }

  /**
   * Settings of callers whose requests are all rejected. A refresh changes them.
   *
   * @param addresses the networks of blocked clients
   * @param users the names of blocked users
   * @param status the status of the response to a blocked caller
   * @param message the message of the response to a blocked caller
   */
  @ConfigurationProperties(BlockConfiguration.PREFIX)
  public record BlockConfiguration(
      @Internal TrustedProxies addresses, @Internal Set<String> users, int status, String message) {

    /** Prefix of these settings. */
    public static final String PREFIX = LimiterConfiguration.PREFIX + ".block";

    private static final String DEFAULT_STATUS = "403";

    /** The key of the limiter's own message, in braces. */
    @Internal public static final String DEFAULT_MESSAGE = "{limiter.blocked}";

    /** The code in the body of the response to a blocked caller. */
    @Internal public static final String CODE = "blocked";

    private static final int MIN_STATUS = 400;
    private static final int MAX_STATUS = 599;

    @Internal
    public BlockConfiguration {
      users = Set.copyOf(users);
      Bounds.require(PREFIX + ".status", status, MIN_STATUS, MAX_STATUS);
    }

    /**
     * @param addresses Default value none. Addresses and networks of clients, such as {@code
     *     203.0.113.7} and {@code 2001:db8::/32}; at most 1,024. All their requests are rejected
     *     before any other filter, those for unknown paths and static files as well.
     * @param users Default value none. Names of principals, whose requests are rejected after
     *     security.
     * @param status The status of the response to a blocked caller. Default value 403; 400 to 599.
     * @param message The message of the response to a blocked caller: a text, or the key of a
     *     message in braces. Default value {@code {limiter.blocked}}.
     * @throws ConfigurationException naming the property, its value and the remedy
     */
    @ConfigurationInject
    BlockConfiguration(
        @Nullable List<String> addresses,
        @Nullable Set<String> users,
        @Bindable(defaultValue = DEFAULT_STATUS) int status,
        @Bindable(defaultValue = DEFAULT_MESSAGE) String message) {
      this(
          networks(PREFIX + ".addresses", addresses),
          users == null ? Set.of() : users,
          status,
          message);
    }

    /** The settings that this resolver has now: the bean has those of the start. */
    static BlockConfiguration of(PropertyResolver settings) {
      return new BlockConfiguration(
          settings.getProperty(PREFIX + ".addresses", Argument.listOf(String.class)).orElse(null),
          settings.getProperty(PREFIX + ".users", Argument.setOf(String.class)).orElse(null),
          status(settings),
          settings.getProperty(PREFIX + ".message", String.class, DEFAULT_MESSAGE));
    }

    private static int status(PropertyResolver settings) {
      String written = settings.getProperty(PREFIX + ".status", String.class, DEFAULT_STATUS);
      try {
        return Integer.parseInt(written);
      } catch (NumberFormatException mistake) {
        throw new ConfigurationException(
            "%s.status = %s: set it to %s to %s".formatted(PREFIX, written, MIN_STATUS, MAX_STATUS),
            mistake);
      }
    }

    /** Whether no caller is blocked. */
    boolean isEmpty() {
      return addresses.isEmpty() && users.isEmpty();
    }
  }

  private static TrustedProxies networks(String property, @Nullable List<String> written) {
    if (written == null) {
      return TrustedProxies.NONE;
    }
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
