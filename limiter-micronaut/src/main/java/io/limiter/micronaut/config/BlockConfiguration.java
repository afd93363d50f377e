// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.micronaut.address.TrustedProxies;
import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.Internal;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/** Settings of callers whose requests are all rejected. A refresh changes them. */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(BlockConfiguration.PREFIX)
public final class BlockConfiguration {

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

  static TrustedProxies networks(String property, List<String> written) {
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
