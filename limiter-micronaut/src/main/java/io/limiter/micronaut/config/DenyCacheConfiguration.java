// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.core.resilience.DenyCache;
import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import java.time.Duration;

/**
 * Settings of the deny cache: a subject that is denied until a known time is denied until then
 * without a call to Redis, except for an occasional check. Without Redis there is no such cache.
 */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(DenyCacheConfiguration.PREFIX)
public final class DenyCacheConfiguration {

  /** Prefix of these settings. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".deny-cache";

  private boolean enabled = true;
  private int maxSize = DenyCache.DEFAULT_SIZE;
  private Duration maxAge = DenyCache.MAX_AGE;

  /** Whether denials are cached. */
  public boolean enabled() {
    return enabled;
  }

  /** Default value true. {@code limiter.policies.<name>.deny-cache} excludes a single policy. */
  public void setEnabled(String enabled) {
    this.enabled = EnumSetting.isOn(PREFIX + ".enabled", enabled);
  }

  /** Maximum number of cached denials. */
  public int getMaxSize() {
    return maxSize;
  }

  /** Default value 10,000; 1 to 100,000, about one kilobyte each. Redis decides further calls. */
  public void setMaxSize(int maxSize) {
    if (maxSize < 1 || maxSize > DenyCache.MAX_SIZE) {
      throw new ConfigurationException(
          "%s.max-size = %d: give it 1 to %d, or set %s.enabled = false"
              .formatted(PREFIX, maxSize, DenyCache.MAX_SIZE, PREFIX));
    }
    this.maxSize = maxSize;
  }

  /** The longest time for which the cache may deny calls that Redis would admit again. */
  public Duration getMaxAge() {
    return maxAge;
  }

  /**
   * Default value 1 s, which is also the maximum; more than 0. After that time one call is checked
   * with Redis.
   */
  public void setMaxAge(Duration maxAge) {
    if (maxAge.isNegative() || maxAge.isZero() || maxAge.compareTo(DenyCache.MAX_AGE) > 0) {
      throw new ConfigurationException(
          "%s.max-age = %s: give it more than 0 and 1s at most, or set %s.enabled = false"
              .formatted(PREFIX, maxAge, PREFIX));
    }
    this.maxAge = maxAge;
  }
}
