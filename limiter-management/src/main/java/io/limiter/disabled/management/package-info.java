// SPDX-License-Identifier: Apache-2.0
/**
 * Replaces {@link io.limiter.management} while {@code limiter.enabled} is false: there are no
 * overrides, since there are no limits. This package is outside of that one, which is disabled as a
 * whole.
 */
@Configuration
@Requires(property = "limiter.enabled", pattern = "(?i)\\s*(?:false|off|no)\\s*")
@NullMarked
package io.limiter.disabled.management;

import io.micronaut.context.annotation.Configuration;
import io.micronaut.context.annotation.Requires;
import org.jspecify.annotations.NullMarked;
