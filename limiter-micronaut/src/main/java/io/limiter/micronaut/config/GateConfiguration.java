// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;

/** The gate, which decides requests before their bodies are read. */
@Context // a mistake stops the start
@ConfigurationProperties(GateConfiguration.PREFIX)
public final class GateConfiguration {

  /** All settings stand under this. */
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
