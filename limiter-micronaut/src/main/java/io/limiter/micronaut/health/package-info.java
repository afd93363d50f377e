// SPDX-License-Identifier: Apache-2.0
/**
 * The limiter's part of the health endpoint of micronaut-management. By default the service stays
 * up while Redis is away, since limits are then kept in memory.
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
