// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import java.time.Duration;

/** Settings of the hash in Redis by which all instances change the numbers of their policies. */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(SharedSettingsConfiguration.PREFIX)
public final class SharedSettingsConfiguration {

  /** Prefix of these settings. */
  public static final String PREFIX = RedisConfiguration.PREFIX + ".shared-settings";

  /** Default of {@code limiter.redis.shared-settings.interval}. */
  public static final Duration DEFAULT_INTERVAL = Duration.ofSeconds(5);

  private static final Duration MIN_INTERVAL = Duration.ofMillis(100);
  private static final Duration MAX_INTERVAL = Duration.ofHours(1);

  private boolean enabled;
  private Duration interval = DEFAULT_INTERVAL;

  /** Whether the hash is read. */
  public boolean reads() {
    return enabled;
  }

  /** Default value false. The Redis user needs the commands {@code HGETALL} and {@code HLEN}. */
  public void setEnabled(String enabled) {
    this.enabled = EnumSetting.isOn(PREFIX + ".enabled", enabled);
  }

  /** The time between two reads of the hash. */
  public Duration getInterval() {
    return interval;
  }

  /** Default value 5 s; 100 ms to 1 hour. A change takes effect after this time at most. */
  public void setInterval(Duration interval) {
    if (interval.compareTo(MIN_INTERVAL) < 0 || interval.compareTo(MAX_INTERVAL) > 0) {
      throw new ConfigurationException(
          "%s.interval = %d ms: give it 100 ms to 1 h".formatted(PREFIX, interval.toMillis()));
    }
    this.interval = interval;
  }
}
