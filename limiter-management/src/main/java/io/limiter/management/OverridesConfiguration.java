// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import io.limiter.micronaut.config.Bounds;
import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.bind.annotation.Bindable;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.time.Duration;

/**
 * Settings of the limits that single subjects have for a time, and of callers that are blocked or
 * exempt for a time.
 *
 * @param enabled Whether overrides hold, and callers can be blocked and exempt at run time. Default
 *     value false. Set it on all instances: one without it has the usual limits, and only the
 *     callers of {@code limiter.block} and {@code limiter.exempt}. The Redis user needs the
 *     commands {@code HGETALL}, {@code HLEN}, {@code HSET}, {@code HDEL} and {@code PEXPIREAT}.
 * @param interval The time between two reads of what other instances have changed. Default value 2
 *     s; 100 ms to 5 s. An override holds on all instances after this time.
 */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(OverridesConfiguration.PREFIX)
record OverridesConfiguration(
    @Bindable(defaultValue = "false") boolean enabled,
    @Bindable(defaultValue = "2s") Duration interval) {

  /** Prefix of these settings. */
  static final String PREFIX = "limiter.overrides";

  OverridesConfiguration {
    Bounds.require(
        PREFIX + ".interval",
        interval,
        Duration.ofMillis(100),
        Duration.ofSeconds(5),
        "100 ms to 5 s");
  }

  /** A bean that is there if overrides are enabled. Micronaut reads the same words as true. */
  @Requires(property = PREFIX + ".enabled", pattern = "(?i)true|on|yes")
  @Retention(RetentionPolicy.RUNTIME)
  @Target(ElementType.TYPE)
  @interface Enabled {}
}
