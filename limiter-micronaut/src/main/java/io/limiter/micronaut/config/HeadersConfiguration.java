// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;

/**
 * Settings of the header fields that report the state of a limit. {@code Cache-Control: no-store}
 * on denials is not optional: it is always sent.
 */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(HeadersConfiguration.PREFIX)
public final class HeadersConfiguration {

  /** Prefix of these settings. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".headers";

  private boolean enabled = true;
  private boolean retryAfter = true;
  private Legacy legacy = Legacy.OFF;
  private boolean debug;

  /** The form of {@code X-RateLimit-Reset}, about which services disagree. */
  public enum Legacy {
    /** No {@code X-RateLimit} fields. */
    OFF,
    /** Seconds from now. */
    SECONDS,
    /** Seconds since 1970, by the clock of this service. */
    EPOCH
  }

  /** Whether {@code RateLimit-Policy} and {@code RateLimit} are sent. */
  public boolean rateLimit() {
    return enabled;
  }

  /** Default value true. */
  public void setEnabled(String enabled) {
    this.enabled = EnumSetting.isOn(PREFIX + ".enabled", enabled);
  }

  /** Whether {@code Retry-After} is sent. */
  public boolean retryAfter() {
    return retryAfter;
  }

  /** Default value true. */
  public void setRetryAfter(String retryAfter) {
    this.retryAfter = EnumSetting.isOn(PREFIX + ".retry-after", retryAfter);
  }

  /** Whether and how {@code X-RateLimit-Limit}, {@code -Remaining} and {@code -Reset} are sent. */
  public Legacy legacy() {
    return legacy;
  }

  /** Default value {@code off}; or {@code seconds}, or {@code epoch}. */
  public void setXRateLimit(String form) {
    // In YAML an unquoted off is a boolean.
    this.legacy =
        form.equalsIgnoreCase("false")
            ? Legacy.OFF
            : EnumSetting.of(Legacy.class, PREFIX + ".x-rate-limit", form);
  }

  /** Whether {@code X-Decided-By} is sent. */
  public boolean debug() {
    return debug;
  }

  /**
   * Default value false. Whether limited responses have {@code X-Decided-By}: {@code STORE}, {@code
   * DENY_CACHE}, {@code FALLBACK} with the reason, or {@code NONE}. It shows clients when Redis is
   * away.
   */
  public void setDebug(String debug) {
    this.debug = EnumSetting.isOn(PREFIX + ".debug", debug);
  }
}
