// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;

/** Settings of the limiter's part of the health endpoint of micronaut-management. */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(HealthConfiguration.PREFIX)
public final class HealthConfiguration {

  /** Prefix of these settings. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".health";

  private boolean required;

  /**
   * Default value true. If false, the limiter has no health indicator, and that of micronaut-redis
   * is unchanged.
   */
  public void setEnabled(String enabled) {
    var unused = EnumSetting.isOn(PREFIX + ".enabled", enabled);
  }

  /** Whether the limiter reports DOWN while Redis is away, although memory decides then. */
  public boolean isRedisRequired() {
    return required;
  }

  /** Default value false. */
  public void setRequired(String required) {
    this.required = EnumSetting.isOn(PREFIX + ".required", required);
  }
}
