// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.core.resilience.DenyCache;
import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import java.time.Duration;

/**
 * Who is refused until some time is answered until then without asking Redis, but for one look in a
 * while. Without a Redis there is nothing to spare, and no such cache.
 */
@Context // a mistake stops the start
@ConfigurationProperties(DenyCacheConfiguration.PREFIX)
public final class DenyCacheConfiguration {

  /** All settings stand under this. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".deny-cache";

  private boolean enabled = true;
  private int maxSize = DenyCache.DEFAULT_SIZE;
  private Duration maxAge = DenyCache.MAX_AGE;

  /** Whether refused callers are remembered. */
  public boolean enabled() {
    return enabled;
  }

  /**
   * Default value true. A single policy is left out by {@code limiter.policies.<name>.deny-cache}.
   */
  public void setEnabled(String enabled) {
    this.enabled = EnumSetting.isOn(PREFIX + ".enabled", enabled);
  }

  /** Refused callers that are remembered at the same time. */
  public int getMaxSize() {
    return maxSize;
  }

  /** Default value 10,000; 1 to 100,000, about one kilobyte each. Redis is asked for others. */
  public void setMaxSize(int maxSize) {
    if (maxSize < 1 || maxSize > DenyCache.MAX_SIZE) {
      throw new ConfigurationException(
          "%s.max-size = %d: give it 1 to %d, or set %s.enabled = false"
              .formatted(PREFIX, maxSize, DenyCache.MAX_SIZE, PREFIX));
    }
    this.maxSize = maxSize;
  }

  /** For how long a call is refused that Redis would admit again, at most. */
  public Duration getMaxAge() {
    return maxAge;
  }

  /** Default value 1 s, which is the most; more than 0. After it one call looks at Redis. */
  public void setMaxAge(Duration maxAge) {
    if (maxAge.isNegative() || maxAge.isZero() || maxAge.compareTo(DenyCache.MAX_AGE) > 0) {
      throw new ConfigurationException(
          "%s.max-age = %s: give it more than 0 and 1s at most, or set %s.enabled = false"
              .formatted(PREFIX, maxAge, PREFIX));
    }
    this.maxAge = maxAge;
  }
}
