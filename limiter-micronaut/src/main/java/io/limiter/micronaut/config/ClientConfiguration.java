// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import java.time.Duration;

/** Settings of clients that obey the limits of other services. */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(ClientConfiguration.PREFIX)
public final class ClientConfiguration {

  /** Prefix of these settings. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".client";

  /** Default of {@code limiter.client.max-wait}. */
  public static final Duration DEFAULT_MAX_WAIT = Duration.ofSeconds(2);

  /** Default of {@code limiter.client.max-waiters}. */
  public static final int DEFAULT_MAX_WAITERS = 100;

  /** Default of {@code limiter.client.max-retry-after}. */
  public static final Duration DEFAULT_MAX_RETRY_AFTER = Duration.ofMinutes(5);

  /** Default of {@code limiter.client.max-servers}. */
  public static final int DEFAULT_MAX_SERVERS = 1_000;

  private static final Duration MAX_WAIT = Duration.ofMinutes(5);
  private static final Duration MAX_RETRY_AFTER = Duration.ofDays(1);
  private static final int MAX_NUMBER = 100_000;

  private Duration maxWait = DEFAULT_MAX_WAIT;
  private int maxWaiters = DEFAULT_MAX_WAITERS;
  private Duration maxRetryAfter = DEFAULT_MAX_RETRY_AFTER;
  private int maxServers = DEFAULT_MAX_SERVERS;

  /** How long a call waits at most. */
  public Duration getMaxWait() {
    return maxWait;
  }

  /** Default value 2 s; 0 to 5 minutes. With 0 calls fail at once during a pause. */
  public void setMaxWait(Duration maxWait) {
    requireWithin("max-wait", maxWait, Duration.ZERO, MAX_WAIT);
    this.maxWait = maxWait;
  }

  /** The number of calls that may wait for one server. */
  public int getMaxWaiters() {
    return maxWaiters;
  }

  /** Default value 100; 0 to 100,000. Further calls fail at once. */
  public void setMaxWaiters(int maxWaiters) {
    requireWithin("max-waiters", maxWaiters, 0);
    this.maxWaiters = maxWaiters;
  }

  /** The longest pause that is accepted from a server. */
  public Duration getMaxRetryAfter() {
    return maxRetryAfter;
  }

  /** Default value 5 minutes; 1 s to 1 day. A longer {@code Retry-After} counts as this. */
  public void setMaxRetryAfter(Duration maxRetryAfter) {
    requireWithin("max-retry-after", maxRetryAfter, Duration.ofSeconds(1), MAX_RETRY_AFTER);
    this.maxRetryAfter = maxRetryAfter;
  }

  /** The number of servers whose pauses are known. */
  public int getMaxServers() {
    return maxServers;
  }

  /** Default value 1,000; 1 to 100,000. The pauses of further servers are not obeyed. */
  public void setMaxServers(int maxServers) {
    requireWithin("max-servers", maxServers, 1);
    this.maxServers = maxServers;
  }

  private static void requireWithin(String name, int number, int least) {
    if (number < least || number > MAX_NUMBER) {
      throw new ConfigurationException(
          "%s.%s = %d: give it %d to %d".formatted(PREFIX, name, number, least, MAX_NUMBER));
    }
  }

  private static void requireWithin(String name, Duration time, Duration least, Duration most) {
    if (time.compareTo(least) < 0 || time.compareTo(most) > 0) {
      throw new ConfigurationException(
          "%s.%s = %d ms: give it %d ms to %d ms"
              .formatted(PREFIX, name, time.toMillis(), least.toMillis(), most.toMillis()));
    }
  }
}
