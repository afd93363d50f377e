// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;

/** Settings of the gate, which decides requests before their bodies are read. */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(GateConfiguration.PREFIX)
public final class GateConfiguration {

  /** Prefix of these settings. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".gate";

  private boolean enabled = true;

  /** Whether the gate decides. Without it, the guard decides all calls. */
  public boolean decides() {
    return enabled;
  }

  /** Default value true. */
  public void setEnabled(String enabled) {
    this.enabled = EnumSetting.isOn(PREFIX + ".enabled", enabled);
  }
}
