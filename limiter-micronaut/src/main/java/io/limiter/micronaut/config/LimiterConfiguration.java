// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.core.resilience.Fallback;
import io.limiter.core.rule.SlidingWindowLog;
import io.limiter.micronaut.annotation.Anonymous;
import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import java.time.DateTimeException;
import java.time.ZoneId;
import java.time.ZoneOffset;

/** Settings of the limiter as a whole. */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(LimiterConfiguration.PREFIX)
public final class LimiterConfiguration {

  /** Prefix of these settings. */
  public static final String PREFIX = "limiter";

  /** Default of {@code limiter.max-count}. */
  public static final long DEFAULT_MAX_COUNT = 10_000;

  private long maxCount = DEFAULT_MAX_COUNT;
  private Anonymous anonymous = Anonymous.ADDRESS;
  private Fallback fallback = Fallback.LOCAL;
  private ZoneId zone = ZoneOffset.UTC;

  /**
   * Default value true. If false, this bean and the rest of the limiter are absent.
   *
   * @throws ConfigurationException if the word means neither true nor false
   */
  public void setEnabled(String enabled) {
    var unused = EnumSetting.isOn(PREFIX + ".enabled", enabled);
  }

  /**
   * The largest count of an exact log, which takes about 8 bytes a unit for each subject. Other
   * algorithms store a few numbers and are not bounded by it.
   */
  public long getMaxCount() {
    return maxCount;
  }

  /** Default value 10,000; 1 to 1,000,000. */
  public void setMaxCount(long maxCount) {
    if (maxCount < 1 || maxCount > SlidingWindowLog.MAX_COUNT) {
      throw new ConfigurationException(
          "limiter.max-count = %d: give it 1 to %d"
              .formatted(maxCount, SlidingWindowLog.MAX_COUNT));
    }
    this.maxCount = maxCount;
  }

  /**
   * How calls are limited for which a limit by user, header or resolver has no subject, unless its
   * annotation specifies it.
   */
  public Anonymous anonymous() {
    return anonymous;
  }

  /** Default value {@code address}; or {@code refuse}. */
  public void setAnonymous(String anonymous) {
    this.anonymous = EnumSetting.of(Anonymous.class, PREFIX + ".anonymous", anonymous);
  }

  /** Who decides while Redis does not answer, where a policy has no fallback of its own. */
  public Fallback fallback() {
    return fallback;
  }

  /**
   * Default value {@code local}; or {@code allow}, or {@code deny}: 503 over HTTP. Without Redis
   * there is no fallback: memory always decides.
   */
  public void setFallback(String fallback) {
    this.fallback = EnumSetting.of(Fallback.class, PREFIX + ".fallback", fallback);
  }

  /** The time zone of aligned windows, unless the rule specifies it. */
  public ZoneId zone() {
    return zone;
  }

  /** Default value {@code UTC}; or a zone such as {@code Europe/Berlin}. */
  public void setZone(String zone) {
    try {
      this.zone = ZoneId.of(zone);
    } catch (DateTimeException unknown) {
      throw new ConfigurationException(
          "limiter.zone = %s: there is no such time zone: write one such as UTC or Europe/Berlin"
              .formatted(zone));
    }
  }
}
