// SPDX-License-Identifier: Apache-2.0
/**
 * The limiter for Micronaut: annotations, the guard around annotated methods, the gate before
 * annotated routes. {@code limiter.enabled: false} disables all of it; annotated methods are then
 * not limited.
 */
@Configuration
@Requires(
    property = "limiter.enabled",
    pattern = "(?i)(?!\\s*(?:false|off|no)\\s*$).*",
    defaultValue = "true")
@NullMarked
package io.limiter.micronaut;

import io.micronaut.context.annotation.Configuration;
import io.micronaut.context.annotation.Requires;
import org.jspecify.annotations.NullMarked;
