// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.bind.annotation.Bindable;
import java.time.Duration;

/**
 * Settings of clients that obey the limits of other services.
 *
 * @param maxWait How long a call waits at most. Default value 2 s; 0 to 5 minutes. With 0 calls
 *     fail at once during a pause.
 * @param maxWaiters The number of calls that may wait for one server. Default value 100; 0 to
 *     100,000. Further calls fail at once.
 * @param maxRetryAfter The longest pause that is accepted from a server. Default value 5 minutes; 1
 *     s to 1 day. A longer {@code Retry-After} counts as this.
 * @param jitter How much later than a pause ends its calls are sent, as a share of the pause: each
 *     after a random time up to that, so that the callers of one server do not return together.
 *     Default value 0.5; 0 to 1. With 0 all are sent when the pause ends.
 * @param maxServers The number of servers whose pauses are known. Default value 1,000; 1 to
 *     100,000. The pauses of further servers are not obeyed.
 */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(ClientConfiguration.PREFIX)
public record ClientConfiguration(
    @Bindable(defaultValue = "2s") Duration maxWait,
    @Bindable(defaultValue = "100") int maxWaiters,
    @Bindable(defaultValue = "5m") Duration maxRetryAfter,
    @Bindable(defaultValue = "0.5") double jitter,
    @Bindable(defaultValue = "1000") int maxServers) {

  /** Prefix of these settings. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".client";

  private static final int MAX_NUMBER = 100_000;

  /**
   * @throws ConfigurationException naming the property, its value and the remedy
   */
  public ClientConfiguration {
    Bounds.require(PREFIX + ".max-wait", maxWait, Duration.ZERO, Duration.ofMinutes(5));
    Bounds.require(PREFIX + ".max-waiters", maxWaiters, 0, MAX_NUMBER);
    Bounds.require(
        PREFIX + ".max-retry-after", maxRetryAfter, Duration.ofSeconds(1), Duration.ofDays(1));
    Bounds.require(PREFIX + ".jitter", jitter, jitter >= 0 && jitter <= 1, "0 to 1");
    Bounds.require(PREFIX + ".max-servers", maxServers, 1, MAX_NUMBER);
  }
}
