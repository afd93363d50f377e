// SPDX-License-Identifier: Apache-2.0
package io.limiter.client;

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
record ClientConfiguration(
    @Bindable(defaultValue = "2s") Duration maxWait,
    @Bindable(defaultValue = "100") int maxWaiters,
    @Bindable(defaultValue = "5m") Duration maxRetryAfter,
    @Bindable(defaultValue = "0.5") double jitter,
    @Bindable(defaultValue = "1000") int maxServers) {

  /** Prefix of these settings. */
  static final String PREFIX = "limiter.client";

  /**
   * @throws ConfigurationException naming the property, its value and the remedy
   */
  ClientConfiguration {
    require("max-wait", maxWait, Duration.ZERO, Duration.ofMinutes(5));
    require("max-waiters", maxWaiters, 0 <= maxWaiters && maxWaiters <= 100_000, "0 to 100000");
    require("max-retry-after", maxRetryAfter, Duration.ofSeconds(1), Duration.ofDays(1));
    require("jitter", jitter, 0 <= jitter && jitter <= 1, "0 to 1");
    require("max-servers", maxServers, 1 <= maxServers && maxServers <= 100_000, "1 to 100000");
  }

  private static void require(String name, Duration value, Duration least, Duration most) {
    require(
        name,
        value.toMillis() + " ms",
        least.compareTo(value) <= 0 && value.compareTo(most) <= 0,
        "%s ms to %s ms".formatted(least.toMillis(), most.toMillis()));
  }

  private static void require(String name, Object value, boolean fits, String range) {
    if (!fits) {
      throw new ConfigurationException(
          "%s.%s = %s: set it to %s".formatted(PREFIX, name, value, range));
    }
  }
}
