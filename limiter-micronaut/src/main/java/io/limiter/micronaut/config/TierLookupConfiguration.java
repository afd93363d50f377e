// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import java.time.Duration;

/** Settings of the look-up of the tier of a caller. */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(TierLookupConfiguration.PREFIX)
public final class TierLookupConfiguration {

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

  /** Default value 1 min; 0 to 1 day. A change of a caller's tier takes effect after this time. */
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
