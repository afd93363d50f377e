// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.annotation.ConfigurationProperties;

/** The gate, which decides requests before their bodies are read. */
@ConfigurationProperties(GateConfiguration.PREFIX)
public final class GateConfiguration {

  /** All settings stand under this. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".gate";

  private boolean enabled = true;

  /** Whether the gate decides. Without it, the guard decides all calls. */
  public boolean isEnabled() {
    return enabled;
  }

  /** Default value true. */
  public void setEnabled(boolean enabled) {
    this.enabled = enabled;
  }
}
