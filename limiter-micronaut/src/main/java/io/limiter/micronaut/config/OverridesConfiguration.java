// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import java.time.Duration;

/** Settings of the limits that single subjects have for a time. */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(OverridesConfiguration.PREFIX)
public final class OverridesConfiguration {

  /** Prefix of these settings. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".overrides";

  /** Default of {@code limiter.overrides.interval}. */
  public static final Duration DEFAULT_INTERVAL = Duration.ofSeconds(2);

  private static final Duration MIN_INTERVAL = Duration.ofMillis(100);
  private static final Duration MAX_INTERVAL = Duration.ofSeconds(5);

  private boolean enabled;
  private Duration interval = DEFAULT_INTERVAL;

  /** Whether overrides hold. */
  public boolean enabled() {
    return enabled;
  }

  /**
   * Default value false. Set it on all instances: one without it has the usual limits. The Redis
   * user needs the commands {@code HGETALL}, {@code HLEN}, {@code HSET}, {@code HDEL} and {@code
   * PEXPIREAT}.
   */
  public void setEnabled(String enabled) {
    this.enabled = EnumSetting.isOn(PREFIX + ".enabled", enabled);
  }

  /** The time between two reads of what other instances have changed. */
  public Duration getInterval() {
    return interval;
  }

  /** Default value 2 s; 100 ms to 5 s. An override holds on all instances after this time. */
  public void setInterval(Duration interval) {
    if (interval.compareTo(MIN_INTERVAL) < 0 || interval.compareTo(MAX_INTERVAL) > 0) {
      throw new ConfigurationException(
          "%s.interval = %d ms: give it 100 ms to 5 s".formatted(PREFIX, interval.toMillis()));
    }
    this.interval = interval;
  }
}
