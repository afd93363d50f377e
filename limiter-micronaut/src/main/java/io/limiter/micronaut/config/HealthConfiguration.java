// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;

/** What the limiter adds to the health endpoint of micronaut-management. */
@Context // a mistake stops the start
@ConfigurationProperties(HealthConfiguration.PREFIX)
public final class HealthConfiguration {

  /** All settings stand under this. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".health";

  private boolean required;

  /**
   * Default value true. Where it is false, the limiter has no health indicator, and that of
   * micronaut-redis is left as it is.
   */
  public void setEnabled(String enabled) {
    var unused = EnumSetting.isOn(PREFIX + ".enabled", enabled);
  }

  /** Whether the limiter is down while Redis is away, although memory decides then. */
  public boolean isRedisRequired() {
    return required;
  }

  /** Default value false. */
  public void setRequired(String required) {
    this.required = EnumSetting.isOn(PREFIX + ".required", required);
  }
}
