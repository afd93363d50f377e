// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;

/** Settings of the meters and the span attributes of the limiter. */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(MetricsConfiguration.PREFIX)
public final class MetricsConfiguration {

  /** Prefix of these settings. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".metrics";

  /** Default value true. If false, the limiter has no meters and writes no span attributes. */
  public void setEnabled(String enabled) {
    var unused = EnumSetting.isOn(PREFIX + ".enabled", enabled);
  }
}
