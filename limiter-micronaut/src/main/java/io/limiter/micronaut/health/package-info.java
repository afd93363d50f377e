// SPDX-License-Identifier: Apache-2.0
/**
 * What the health endpoint of micronaut-management shows of the limiter, and what it does not: that
 * Redis is away is no reason to take a service away whose limits are kept in memory.
 */
@Configuration
@Requires(classes = HealthIndicator.class)
@Requires(
    property = "limiter.health.enabled",
    pattern = "(?i)(?!\\s*(?:false|off|no)\\s*$).*",
    defaultValue = "true")
@NullMarked
package io.limiter.micronaut.health;

import io.micronaut.context.annotation.Configuration;
import io.micronaut.context.annotation.Requires;
import io.micronaut.management.health.indicator.HealthIndicator;
import org.jspecify.annotations.NullMarked;
