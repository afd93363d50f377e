// SPDX-License-Identifier: Apache-2.0

/**
 * Meters of Micrometer and attributes of OpenTelemetry's spans, where those libraries are on the
 * classpath. No tag and no attribute contains a subject.
 */
@Configuration
@Requires(
    property = "limiter.metrics.enabled",
    pattern = "(?i)(?!\\s*(?:false|off|no)\\s*$).*",
    defaultValue = "true")
@NullMarked
package io.limiter.micronaut.metrics;

import io.micronaut.context.annotation.Configuration;
import io.micronaut.context.annotation.Requires;
import org.jspecify.annotations.NullMarked;
