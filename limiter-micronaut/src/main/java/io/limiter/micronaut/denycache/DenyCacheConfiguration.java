// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denycache;

import io.limiter.core.denycache.DenyCache;
import io.limiter.micronaut.config.Bounds;
import io.limiter.micronaut.config.LimiterConfiguration;
import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.core.bind.annotation.Bindable;
import java.time.Duration;

/**
 * Settings of the deny cache: a subject that is denied until a known time is denied until then
 * without a call to Redis, except for an occasional check. Without Redis there is no such cache.
 *
 * @param enabled Whether denials are cached. Default value true. {@code
 *     limiter.policies.<name>.deny-cache} excludes a single policy.
 * @param maxSize Maximum number of cached denials. Default value 10,000; 1 to 100,000, about one
 *     kilobyte each. Redis decides further calls.
 * @param maxAge The longest time for which the cache may deny calls that Redis would admit again.
 *     Default value 1 s, which is also the maximum; more than 0. After that time one call is
 *     checked with Redis.
 */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(DenyCacheConfiguration.PREFIX)
record DenyCacheConfiguration(
    @Bindable(defaultValue = "true") boolean enabled,
    @Bindable(defaultValue = "10000") int maxSize,
    @Bindable(defaultValue = "1s") Duration maxAge) {

  /** Prefix of these settings. */
  static final String PREFIX = LimiterConfiguration.PREFIX + ".deny-cache";

  DenyCacheConfiguration {
    String remedy = ", or set %s.enabled = false".formatted(PREFIX);
    Bounds.require(
        PREFIX + ".max-size",
        maxSize,
        1 <= maxSize && maxSize <= DenyCache.MAX_SIZE,
        "1 to " + DenyCache.MAX_SIZE + remedy);
    Bounds.require(
        PREFIX + ".max-age",
        maxAge,
        maxAge.compareTo(Duration.ZERO) > 0 && maxAge.compareTo(DenyCache.MAX_AGE) <= 0,
        "more than 0 and 1s at most" + remedy);
  }
}
