// SPDX-License-Identifier: Apache-2.0
/**
 * Replaces the limiter while {@code limiter.enabled} is false: calls of the programmatic limiter
 * are always admitted. This package is outside of {@code io.limiter.micronaut}, which is disabled
 * as a whole.
 */
@Configuration
@Requires(property = "limiter.enabled", pattern = "(?i)\\s*(?:false|off|no)\\s*")
@NullMarked
package io.limiter.disabled;

import io.micronaut.context.annotation.Configuration;
import io.micronaut.context.annotation.Requires;
import org.jspecify.annotations.NullMarked;
