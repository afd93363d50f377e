// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.micronaut.context.annotation.ConfigurationProperties;

/**
 * Whether requests are decided before their bodies are read. Without the gate, the guard decides
 * all of them.
 */
@ConfigurationProperties("limiter.gate")
public final class GateSwitch {

  private boolean enabled = true;

  /** Default value true. */
  public void setEnabled(boolean enabled) {
    this.enabled = enabled;
  }

  /** Whether the gate decides. */
  public boolean on() {
    return enabled;
  }
}
